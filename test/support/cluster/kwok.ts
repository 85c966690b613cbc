import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { aTerminationReport } from "#test/factories/sessionPod.ts";
import { ChildProgram, freePort } from "../processes/childProgram.ts";
import { programPath } from "../processes/programs.ts";
import { podIp } from "./fakeComponents.ts";

/**
 * Starts kwok to simulate the kubelets of nodes that match a label selector. Resolves once it works. The
 * caller must stop it.
 */
export async function startKwok({
  kubeconfigPath,
  nodeSelector,
}: {
  kubeconfigPath: string;
  nodeSelector: string;
}): Promise<ChildProgram> {
  const directory = mkdtempSync(join(tmpdir(), "joypod-kwok-"));
  process.once("exit", () => rmSync(directory, { recursive: true, force: true }));
  const config = join(directory, "kwok.yaml");
  const template = readFileSync(join(import.meta.dirname, "kwokStages.yaml"), "utf8");
  writeFileSync(
    config,
    template.replace("POD_IP", podIp).replace("TERMINATION_REPORT", JSON.stringify(aTerminationReport())),
  );
  const address = `127.0.0.1:${await freePort()}`;
  const kwok = new ChildProgram({
    command: await programPath("kwok"),
    args: [
      `--kubeconfig=${kubeconfigPath}`,
      `--config=${config}`,
      `--manage-nodes-with-label-selector=${nodeSelector}`,
      `--server-address=${address}`,
    ],
    isReady: async () => (await fetch(`http://${address}/readyz`)).ok,
    install: "run `make programs`, which builds it.",
  });
  await kwok.start();
  return kwok;
}

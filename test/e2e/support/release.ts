import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { programPath, repositoryRoot } from "#test/support/processes/programs.ts";
import { platform, releaseNamespace } from "./platform.ts";

const run = promisify(execFile);
const deadlineMs = 240_000;

/**
 * Upgrades the release with these values in addition to its own. Resolves when its programs run with them.
 */
export async function upgradeRelease(values: object): Promise<void> {
  await helm(
    "upgrade",
    "joypod",
    join(repositoryRoot, "charts/joypod"),
    "--reuse-values",
    "--set-json",
    toAssignments(values),
    "--wait",
  );
}

/** Rolls back the last upgrade. Resolves when the programs run as before. */
export async function rollBackRelease(): Promise<void> {
  await helm("rollback", "joypod", "--wait");
}

/** Runs one pod of `helm test`, and returns its output. */
export async function testRelease(pod: string): Promise<{ isPassed: boolean; output: string }> {
  const isPassed = await helm("test", "joypod", "--filter", `name=${pod}`).then(
    () => true,
    () => false,
  );
  return { isPassed, output: await (await platform()).kubectl(["-n", releaseNamespace, "logs", pod]) };
}

/** Returns one assignment for each group of values. */
function toAssignments(values: object): string {
  return Object.entries(values)
    .map(([name, value]) => `${name}=${JSON.stringify(value)}`)
    .join(",");
}

async function helm(...args: string[]): Promise<void> {
  const { kubeconfig } = await platform();
  await run(
    await programPath("helm"),
    ["--kubeconfig", kubeconfig, "--namespace", releaseNamespace, ...args, "--timeout", "3m"],
    { timeout: deadlineMs, maxBuffer: 16 * 2 ** 20 },
  );
}

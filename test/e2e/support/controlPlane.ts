import { eventually } from "#test/support/clocks/eventually.ts";
import { signalOnNode } from "./nodeContainer.ts";
import { platform } from "./platform.ts";

const pattern = ["-x", "kube-apiserver"];

/** Stops the cluster's API server with SIGSTOP: it accepts connections but does not respond. */
export async function silenceApiServer(): Promise<void> {
  await signalOnNode(await controlPlaneNode(), "STOP", ...pattern);
}

/** Resumes the API server, and waits until it is ready. */
export async function healApiServer(): Promise<void> {
  await signalOnNode(await controlPlaneNode(), "CONT", ...pattern);
  const installed = await platform();
  await eventually(
    async () => (await installed.kubectl(["get", "--raw", "/readyz", "--request-timeout=5s"])) === "ok",
    {
      timeoutMs: 120_000,
      intervalMs: 1000,
      what: "the API server to be ready",
    },
  );
}

let found: Promise<string> | undefined;

/** Cached, because a stopped API server cannot be asked. */
function controlPlaneNode(): Promise<string> {
  return (found ??= platform().then(async (installed) =>
    installed.kubectl([
      "get",
      "nodes",
      "-l",
      "node-role.kubernetes.io/control-plane",
      "-o",
      "jsonpath={.items[0].metadata.name}",
    ]),
  ));
}

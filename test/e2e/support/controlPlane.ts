import { eventually } from "#test/support/clocks/eventually.ts";
import { signalOnNode } from "./nodeContainer.ts";
import { platform } from "./platform.ts";

const pattern = ["-x", "kube-apiserver"];

/** Stops the cluster's API server in its tracks: connections are taken, and nothing comes back. */
export async function silenceApiServer(): Promise<void> {
  await signalOnNode(await controlPlaneNode(), "STOP", ...pattern);
}

/** Lets it go on, and waits until it is ready. */
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

/** Asked once: a silent API server does not tell. */
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

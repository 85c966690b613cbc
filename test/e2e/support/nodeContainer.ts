import { containerEngine } from "#test/support/session/containers.ts";

let engine: ReturnType<typeof containerEngine> | undefined;

/** Runs a command in a node of the local cluster, which is a container. Returns its standard output. */
export async function runOnNode(node: string, ...command: string[]): Promise<string> {
  return runEngine("exec", node, ...command);
}

/**
 * Returns the address at which the node and its containers and pods reach this machine.
 *
 * @throws If it has no gateway.
 */
export async function gatewayOf(node: string): Promise<string> {
  const route = await runOnNode(node, "ip", "-4", "route", "show", "default");
  const address = /^default via (\S+)/.exec(route)?.[1];
  if (address === undefined) throw new Error(`The node ${node} has no gateway: ${route}`);
  return address;
}

/**
 * Runs the container engine with these arguments, for example to pause a node. Returns its standard output.
 */
export async function runEngine(...args: string[]): Promise<string> {
  engine ??= containerEngine();
  return (await engine).run(...args);
}

/**
 * Sends a signal to the node's processes that match the pattern. Does nothing if the node is stopped or gone.
 */
export async function signalOnNode(
  node: string,
  signal: "STOP" | "CONT",
  ...pattern: string[]
): Promise<void> {
  await runOnNode(
    node,
    "sh",
    "-c",
    'signal=$1; shift; pids=$(pgrep "$@") && kill -s "$signal" $pids || :',
    "sh",
    signal,
    ...pattern,
  );
}

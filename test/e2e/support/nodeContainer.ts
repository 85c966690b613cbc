import { containerEngine } from "#test/support/session/containers.ts";

let engine: ReturnType<typeof containerEngine> | undefined;

/** Runs a command in a node of the local cluster, which is a container, and returns its standard output. */
export async function runOnNode(node: string, ...command: string[]): Promise<string> {
  return runEngine("exec", node, ...command);
}

/**
 * Returns the address at which the node, and the containers and pods beside it, reach what listens on this
 * machine. Throws when it has no gateway.
 */
export async function gatewayOf(node: string): Promise<string> {
  const route = await runOnNode(node, "ip", "-4", "route", "show", "default");
  const address = /^default via (\S+)/.exec(route)?.[1];
  if (address === undefined) throw new Error(`The node ${node} has no gateway: ${route}`);
  return address;
}

/** Runs the container engine with these arguments, as to pause a node, and returns its standard output. */
export async function runEngine(...args: string[]): Promise<string> {
  engine ??= containerEngine();
  return (await engine).run(...args);
}

/**
 * Sends a signal to the processes of the node that the pattern finds; those of one that is stopped or gone
 * are no error.
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

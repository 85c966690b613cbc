import { connect, createServer, type Socket } from "node:net";

/** The port on which every pod's streamer takes signalling. */
const podPort = 8080;

/**
 * Lends a pod's address to a streamer on this machine: what comes to `podIp`, a loopback address of one's
 * own, at the port of all pods goes on to the streamer. Returns what ends that, with all connections: another
 * streamer may have the address then.
 */
export async function givePodAddress(podIp: string, signalUrl: string): Promise<() => Promise<void>> {
  const { hostname, port } = new URL(signalUrl);
  const open = new Set<Socket>();
  const server = createServer((incoming) => {
    open.add(incoming);
    const outgoing = connect(Number(port), hostname);
    incoming.pipe(outgoing).pipe(incoming);
    // Either side may go away at any time; then so does the other.
    incoming
      .on("error", () => outgoing.destroy())
      .on("close", () => {
        open.delete(incoming);
        outgoing.destroy();
      });
    outgoing.on("error", () => incoming.destroy()).on("close", () => incoming.destroy());
  });
  await new Promise<void>((resolve, reject) => server.on("error", reject).listen(podPort, podIp, resolve));
  return () =>
    new Promise((resolve) => {
      server.close(() => resolve());
      // The API keeps connections for seconds after a request, and would send the next streamer's on one of
      // them to this one.
      for (const incoming of open) incoming.destroy();
    });
}

import { connect, createServer, type Socket } from "node:net";

/** Signalling port of every pod's streamer. */
const podPort = 8080;

/**
 * Forwards `podIp`, a dedicated loopback address, at the pods' port to a streamer on this machine. Returns a
 * function that stops forwarding and closes all connections, so that another streamer can use the address.
 */
export async function givePodAddress(podIp: string, signalUrl: string): Promise<() => Promise<void>> {
  const { hostname, port } = new URL(signalUrl);
  const open = new Set<Socket>();
  const server = createServer((incoming) => {
    open.add(incoming);
    const outgoing = connect(Number(port), hostname);
    incoming.pipe(outgoing).pipe(incoming);
    // Either side may close at any time; then close the other.
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
      // The API keeps connections open for seconds after a request and would send requests for the next
      // streamer to this one.
      for (const incoming of open) incoming.destroy();
    });
}

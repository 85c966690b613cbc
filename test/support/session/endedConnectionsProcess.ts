// Opens and ends a streamer's connections and reports how many are still in memory. Runs as a separate
// process that is killed, because the transport's threads would keep the test process alive.
import { connectionTest } from "#contracts/connectionTest.ts";
import { whep } from "#contracts/stream.ts";
import { systemClock } from "#runtime/scheduling/clock.ts";
import { compactHeap } from "#runtime/program/compactHeap.ts";
import { silentLogger } from "#runtime/logger.ts";
import { createTestConnection } from "#streamer/connectionTest/connection.ts";
import { announceAddresses, buildTransportOffer, readLines } from "#streamer/transport/sdp.ts";
import { reservePort } from "#streamer/transport/sharedPort.ts";
import { createViewer } from "#streamer/transport/viewer.ts";
import { eventually } from "../clocks/eventually.ts";
import type { ConnectionKind, ConnectionsKept, WhoEnds } from "./endedConnections.ts";
import { openLocalPage } from "./localPage.ts";
import { localViewer } from "./localViewer.ts";

const address = "127.0.0.1";

const cell = new Int32Array(new SharedArrayBuffer(4));
const [kind, whoEnds, count, port] = process.argv.slice(2) as [ConnectionKind, WhoEnds, string, string];
const udpPort = Number(port);
const page =
  kind === "viewer"
    ? { channels: [whep.dataChannel], hasMedia: true }
    : { channels: [connectionTest.controlChannel, connectionTest.packetChannel], hasMedia: false };

/** Everything that belongs to the connection references `onClosed`. */
function createConnection(id: string, sdp: string, onClosed: () => void) {
  if (kind === "test") {
    const test = createTestConnection({
      id,
      sdp: buildTransportOffer(readLines(sdp)),
      udpPort,
      maxKbps: 1_000,
      logger: silentLogger,
      clock: systemClock,
      onClosed,
    });
    return {
      close: () => test.close(),
      open: async () => announceAddresses(await test.open(), [address], udpPort),
    };
  }
  return createViewer(localViewer({ id, sdp, udpPort, onClosed }));
}

/** Blocks this process for a moment, as on a busy machine; the transport's threads continue. */
function standStill(): void {
  Atomics.wait(cell, 0, 0, 100);
}

function standStillUntil(isOpen: () => boolean): void {
  for (let moments = 0; moments < 100 && !isOpen(); moments++) standStill();
  if (!isOpen()) throw new Error("The connection did not open while the program stood still.");
}

/** Opens and ends a connection. Returns a weak reference that shows whether it is still in memory. */
async function openAndEnd(id: number): Promise<WeakRef<() => void>> {
  const { offer, take, isOpen, leave } = openLocalPage(page);
  const ended = Promise.withResolvers<undefined>();
  const onClosed = () => ended.resolve(undefined);
  const connection = createConnection(`connection-${id}`, offer, onClosed);
  take(await connection.open());
  if (whoEnds === "hasty browser") standStillUntil(isOpen);
  else await eventually(isOpen, { what: "an open connection" });
  if (whoEnds === "streamer") connection.close();
  else leave();
  if (whoEnds === "hasty browser") standStill(); // The transport has reported and closed the channel before its callbacks are set.
  await ended.promise;
  leave();
  return new WeakRef(onClosed);
}

reservePort(udpPort);
const connections: WeakRef<() => void>[] = [];
// Sequential, because in parallel they would all be slow and time out on a busy machine.
for (let id = 0; id < Number(count); id++) connections.push(await openAndEnd(id));
let kept = [...connections.keys()];
const collect = (): boolean => {
  compactHeap();
  kept = kept.filter((id) => connections[id]?.deref() !== undefined);
  return kept.length === 0;
};
// If the last packet of an SCTP shutdown is lost, the previous one is repeated at doubling intervals for up
// to 35 s. Garbage collections also pause the transport's threads. Connections that are left are reported.
await eventually(collect, { timeoutMs: 45_000, intervalMs: 500 }).catch(() => undefined);
process.on("disconnect", () => process.kill(process.pid, "SIGKILL"));
process.send?.({ kept } satisfies ConnectionsKept);

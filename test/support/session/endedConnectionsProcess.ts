// Opens and ends a streamer's connections, and tells how many of them are still in memory; as a process of its own, which is killed: the transport's
// threads would keep the tests' process from its end.
import { connectionTest } from "#contracts/connectionTest.ts";
import { whep } from "#contracts/stream.ts";
import { compactHeap } from "#runtime/compactHeap.ts";
import { silentLogger } from "#runtime/logger.ts";
import { createTestConnection } from "#streamer/connectionTest/connection.ts";
import { parseOffer } from "#streamer/transport/offer.ts";
import { announceAddresses } from "#streamer/transport/sdpAnswer.ts";
import { reservePort } from "#streamer/transport/sharedPort.ts";
import { createViewer } from "#streamer/transport/viewer.ts";
import { eventually } from "../clocks/eventually.ts";
import type { ConnectionKind, ConnectionsKept, WhoEnds } from "./endedConnections.ts";
import { offeredH264, openLocalPage } from "./localPage.ts";

const address = "127.0.0.1";
const now = () => performance.now();
const nothing = () => undefined;

const [kind, whoEnds, count, port] = process.argv.slice(2) as [ConnectionKind, WhoEnds, string, string];
const udpPort = Number(port);
const page = kind === "viewer"
  ? { channels: [whep.dataChannel], hasMedia: true }
  : { channels: [connectionTest.controlChannel, connectionTest.packetChannel], hasMedia: false };

/** All that belongs to the connection refers to `onClosed`. */
function createConnection(id: string, sdp: string, onClosed: () => void) {
  if (kind === "test") {
    const test = createTestConnection({ id, sdp, udpPort, maxKbps: 1_000, log: silentLogger, now, onClosed });
    return { close: () => test.close(), open: async () => announceAddresses(await test.open(), [address], udpPort) };
  }
  return createViewer({
    id, offer: parseOffer(sdp), codec: offeredH264, addresses: [address], udpPort, client: undefined, holder: { viewer: "player", role: "play" }, startKbps: 4_000,
    quality: { preset: "auto", width: 1_280, height: 720, fps: 60, maxKbps: 8_000 }, log: silentLogger, now,
    schedule(ms, callback) {
      const timer = setTimeout(callback, ms);
      return () => clearTimeout(timer);
    },
    onInput: nothing, onRtcp: nothing, onMediaOpen: nothing, onKeyFrameNeeded: nothing, onRate: nothing, onChannelOpen: nothing, onLost: nothing, onClosed,
  });
}

/** Opens a connection and ends it. Returns what tells whether it is still in memory. */
async function openAndEnd(id: number): Promise<WeakRef<() => void>> {
  const { offer, take, isOpen, leave } = openLocalPage(page);
  const ended = Promise.withResolvers<undefined>();
  const onClosed = () => ended.resolve(undefined);
  const connection = createConnection(`connection-${id}`, offer, onClosed);
  take(await connection.open());
  await eventually(isOpen, { what: "an open connection" });
  if (whoEnds === "streamer") connection.close();
  else leave();
  await ended.promise;
  leave();
  return new WeakRef(onClosed);
}

reservePort(udpPort);
const connections: WeakRef<() => void>[] = [];
for (let id = 0; id < Number(count); id++) connections.push(await openAndEnd(id)); // At once they would all be slow, and end by themselves on a busy machine.
let kept = connections.length;
const collect = (): boolean => {
  compactHeap();
  kept = connections.filter((connection) => connection.deref() !== undefined).length;
  return kept === 0;
};
await eventually(collect, { timeoutMs: 5_000 }).catch(nothing); // What is left is told.
process.on("disconnect", () => process.kill(process.pid, "SIGKILL"));
process.send?.({ kept } satisfies ConnectionsKept);

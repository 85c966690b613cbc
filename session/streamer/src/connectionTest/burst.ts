import { connectionTest, type TestBurst } from "#contracts/connectionTest.ts";

/** Packets leave in groups of this distance: timers of fewer milliseconds are not kept. */
const tickMs = 10;
/**
 * Packets that a late timer has missed are not made up for: sent all at once they would be lost where evenly
 * sent packets are not.
 */
const maxLateMs = 50;
/**
 * What waits in the transport beyond this would only show the size of a queue: packets are left out until it
 * is shorter.
 */
const maxWaitingBytes = 32_768;

/** Where packets go. */
export interface PacketSink {
  send(packet: Buffer): void;
  waitingBytes(): number;
}

export interface BurstOptions {
  sink: PacketSink;
  maxKbps: number;
  /** Monotonic, in milliseconds. */
  now: () => number;
  /** Called once, at its end, with the number of packets that were sent. */
  onSent: (packets: number) => void;
}

/**
 * Sends the burst's packets, evenly by the clock and never faster than `maxKbps`; returns what ends it early,
 * without `onSent`.
 */
export function startBurst(burst: TestBurst, { sink, maxKbps, now, onSent }: BurstOptions): () => void {
  const { packetBytes, durationMs, packetsPerMs } = shapeOf(burst, maxKbps);
  const startedAt = now();
  let due = 0;
  let sent = 0;
  const tick = () => {
    const elapsed = Math.min(now() - startedAt, durationMs);
    const dueNow = Math.floor(elapsed * packetsPerMs);
    for (
      let left = Math.min(dueNow - due, Math.ceil(maxLateMs * packetsPerMs));
      left > 0 && sink.waitingBytes() < maxWaitingBytes;
      left--
    ) {
      sink.send(packetOf(sent, packetBytes));
      sent++;
    }
    due = dueNow;
    if (elapsed < durationMs) return;
    clearInterval(timer);
    onSent(sent);
  };
  const timer = setInterval(tick, tickMs);
  return () => clearInterval(timer);
}

function shapeOf(
  burst: TestBurst,
  maxKbps: number,
): { packetBytes: number; durationMs: number; packetsPerMs: number } {
  const { smallPacketBytes, largePacketBytes, lossPackets, lossMs, bandwidthMs } = connectionTest;
  const atMost = (packetBytes: number): number => maxKbps / 8 / packetBytes;
  if (burst === "loss")
    return {
      packetBytes: smallPacketBytes,
      durationMs: lossMs,
      packetsPerMs: Math.min(lossPackets / lossMs, atMost(smallPacketBytes)),
    };
  return { packetBytes: largePacketBytes, durationMs: bandwidthMs, packetsPerMs: atMost(largePacketBytes) };
}

/** The packet of this number, which stands in its first four bytes. */
function packetOf(number: number, bytes: number): Buffer {
  const packet = Buffer.alloc(bytes);
  packet.writeUInt32BE(number);
  return packet;
}

import type { Clock } from "#runtime/scheduling/clock.ts";
import nodeDataChannel, { type DataChannel } from "node-datachannel";
import { connectionTest, type TestBurst, type TestNotice } from "#contracts/connectionTest.ts";
import type { Logger } from "#runtime/logger.ts";
import { rejectedOffer } from "../errors.ts";
import { linesWithoutCandidates } from "../transport/sdp.ts";
import { connectionOn, gatherSdpAnswer } from "../transport/sharedPort.ts";
import { handleRequest } from "./requests.ts";

interface TestConnectionOptions {
  id: string;
  /** The offer without its candidates: a browser's address is learned from its packets alone. */
  sdp: string;
  udpPort: number;
  maxKbps: number;
  logger: Logger;
  clock: Pick<Clock, "monotonicMs" | "setTimer">;
  /** Called once, when the connection has ended or the time of the test is over. */
  onClosed: () => void;
}

/** One page's test, from its offer to its end. */
export interface TestConnection {
  /** Returns the SDP answer. Throws InvalidOffer. */
  open(): Promise<string>;
  close(): void;
}

export function createTestConnection({
  id,
  sdp,
  udpPort,
  maxKbps,
  logger,
  clock,
  onClosed,
}: TestConnectionOptions): TestConnection {
  const connection = new nodeDataChannel.PeerConnection(id, connectionOn(udpPort));
  const channels = new Map<string, DataChannel>();
  const asked = new Set<TestBurst>();
  const ends: (() => void)[] = [];
  let isClosed = false;

  const close = () => {
    if (isClosed) return;
    isClosed = true;
    deadline.cancel();
    for (const end of ends) end();
    // The transport holds the callbacks of a channel until the channel itself is closed, and with them all
    // that they refer to.
    for (const channel of channels.values()) channel.close();
    connection.close();
    onClosed();
  };
  const deadline = clock.setTimer(connectionTest.durationSeconds * 1_000, close);
  /** A page may be gone before the transport says so. A send throws then. */
  const orEnd = <T>(use: () => T, otherwise: T): T => {
    if (isClosed) return otherwise;
    try {
      return use();
    } catch (error) {
      logger.debug({ test: id, err: error }, "A test's page is gone.");
      close();
      return otherwise;
    }
  };
  /** Each burst ends once at most, so that few of these can wait. */
  const tellEnd = (notice: Extract<TestNotice, { t: "sent" }>) => {
    const channel = channels.get(connectionTest.controlChannel);
    orEnd(() => channel?.isOpen() === true && channel.sendMessage(JSON.stringify(notice)), false);
  };
  const send = (burst: TestBurst) => {
    const channel = channels.get(connectionTest.packetChannel);
    if (channel === undefined || asked.has(burst)) return;
    asked.add(burst);
    ends.push(
      startBurst(burst, {
        maxKbps,
        clock,
        sink: {
          send: (packet) => orEnd(() => channel.isOpen() && channel.sendMessageBinary(packet), false),
          waitingBytes: () => orEnd(() => channel.bufferedAmount(), 0),
        },
        onSent: (packets) => tellEnd({ t: "sent", burst, packets, limitKbps: maxKbps }),
      }),
    );
  };
  connection.onDataChannel((channel) => {
    const label = channel.getLabel();
    const isOurs = label === connectionTest.controlChannel || label === connectionTest.packetChannel;
    if (!isOurs || channels.has(label)) {
      channel.close();
      return;
    }
    channels.set(label, channel);
    if (label === connectionTest.controlChannel)
      channel.onMessage((message) => orEnd(() => handleRequest(channel, message, send), undefined));
  });
  connection.onStateChange((state) => {
    logger.debug({ test: id, state }, "A test's connection changed.");
    if (state === "failed" || state === "closed" || state === "disconnected") close();
  });
  return {
    async open() {
      try {
        return linesWithoutCandidates(await gatherSdpAnswer(connection, sdp)).join("\r\n") + "\r\n";
      } catch (error) {
        close();
        throw rejectedOffer(error);
      }
    },
    close,
  };
}

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
interface PacketSink {
  send(packet: Buffer): void;
  waitingBytes(): number;
}

interface BurstOptions {
  sink: PacketSink;
  maxKbps: number;
  clock: Pick<Clock, "monotonicMs">;
  /** Called once, at its end, with the number of packets that were sent. */
  onSent: (packets: number) => void;
}

/**
 * Sends the burst's packets, evenly by the clock and never faster than `maxKbps`; returns what ends it early,
 * without `onSent`.
 */
function startBurst(burst: TestBurst, { sink, maxKbps, clock, onSent }: BurstOptions): () => void {
  const { packetBytes, durationMs, packetsPerMs } = shapeOf(burst, maxKbps);
  const startedAt = clock.monotonicMs();
  let due = 0;
  let sent = 0;
  const tick = () => {
    const elapsed = Math.min(clock.monotonicMs() - startedAt, durationMs);
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

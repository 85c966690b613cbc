import type { Clock } from "#runtime/scheduling/clock.ts";
import nodeDataChannel, { type DataChannel } from "node-datachannel";
import { connectionTest, type TestBurst, type TestNotice } from "#contracts/connectionTest.ts";
import type { Logger } from "#runtime/logger.ts";
import { rejectedOffer } from "../errors.ts";
import { removeCandidates } from "../transport/sdp.ts";
import { connectionOptions, gatherSdpAnswer } from "../transport/sharedPort.ts";
import { handleRequest } from "./requests.ts";

interface TestConnectionOptions {
  id: string;
  /** The offer without candidates. The browser's address is learned only from its packets. */
  sdp: string;
  udpPort: number;
  maxKbps: number;
  logger: Logger;
  clock: Pick<Clock, "monotonicMs" | "setTimer">;
  /** Called once, when the connection has ended or the test's time is up. */
  onClosed: () => void;
}

/** One page's test, from offer to end. */
export interface TestConnection {
  /**
   * Returns the SDP answer.
   *
   * @throws DomainError invalid_offer
   */
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
  const connection = new nodeDataChannel.PeerConnection(id, connectionOptions(udpPort));
  const channels = new Map<string, DataChannel>();
  const startedBursts = new Set<TestBurst>();
  const cancels: (() => void)[] = [];
  let isClosed = false;

  const close = () => {
    if (isClosed) return;
    isClosed = true;
    deadline.cancel();
    for (const cancel of cancels) cancel();
    // The transport keeps the callbacks of a channel, and everything they reference, until the channel is
    // closed.
    for (const channel of channels.values()) channel.close();
    connection.close();
    onClosed();
  };
  const deadline = clock.setTimer(connectionTest.durationSeconds * 1_000, close);
  /**
   * Runs `use` on the transport. Closes the test and returns `otherwise` when that throws: the page may be
   * gone before the transport reports it.
   */
  const useOrClose = <T>(use: () => T, otherwise: T): T => {
    if (isClosed) return otherwise;
    try {
      return use();
    } catch (error) {
      logger.debug({ test: id, err: error }, "The page of a connection test is gone.");
      close();
      return otherwise;
    }
  };
  /** Each burst ends at most once, so only a few of these can queue. */
  const notifySent = (notice: Extract<TestNotice, { t: "sent" }>) => {
    const channel = channels.get(connectionTest.controlChannel);
    useOrClose(() => channel?.isOpen() === true && channel.sendMessage(JSON.stringify(notice)), false);
  };
  const send = (burst: TestBurst) => {
    const channel = channels.get(connectionTest.packetChannel);
    if (channel === undefined || startedBursts.has(burst)) return;
    startedBursts.add(burst);
    cancels.push(
      startBurst(burst, {
        maxKbps,
        clock,
        sink: {
          send: (packet) => useOrClose(() => channel.isOpen() && channel.sendMessageBinary(packet), false),
          waitingBytes: () => useOrClose(() => channel.bufferedAmount(), 0),
        },
        onSent: (packets) => notifySent({ t: "sent", burst, packets, limitKbps: maxKbps }),
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
      channel.onMessage((message) => useOrClose(() => handleRequest(channel, message, send), undefined));
  });
  connection.onStateChange((state) => {
    logger.debug({ test: id, state }, "The connection of a connection test changed.");
    if (state === "failed" || state === "closed" || state === "disconnected") close();
  });
  return {
    async open() {
      try {
        return removeCandidates(await gatherSdpAnswer(connection, sdp)).join("\r\n") + "\r\n";
      } catch (error) {
        close();
        throw rejectedOffer(error);
      }
    },
    close,
  };
}

/** Packets are sent in groups this far apart, because shorter timers are inaccurate. */
const tickMs = 10;
/**
 * Packets missed by a late timer are skipped: sent in one go they would be lost where evenly sent packets are
 * not.
 */
const maxLateMs = 50;
/**
 * More than this in the transport's queue would only measure the queue, so packets are skipped until it is
 * shorter.
 */
const maxWaitingBytes = 32_768;

/** Destination of a burst's packets. */
interface PacketSink {
  send(packet: Buffer): void;
  waitingBytes(): number;
}

interface BurstOptions {
  sink: PacketSink;
  maxKbps: number;
  clock: Pick<Clock, "monotonicMs">;
  /** Called once, at the end, with the number of packets sent. */
  onSent: (packets: number) => void;
}

/**
 * Sends a burst's packets evenly, at no more than `maxKbps`. Returns a function that cancels the burst
 * without calling `onSent`.
 */
function startBurst(burst: TestBurst, { sink, maxKbps, clock, onSent }: BurstOptions): () => void {
  const { packetBytes, durationMs, packetsPerMs } = planBurst(burst, maxKbps);
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
      sink.send(buildPacket(sent, packetBytes));
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

function planBurst(
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

/** Returns a packet that carries its number in the first four bytes. */
function buildPacket(number: number, bytes: number): Buffer {
  const packet = Buffer.alloc(bytes);
  packet.writeUInt32BE(number);
  return packet;
}

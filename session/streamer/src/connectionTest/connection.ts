import nodeDataChannel, { type DataChannel } from "node-datachannel";
import { connectionTest, type TestBurst, type TestNotice } from "#contracts/connectionTest.ts";
import type { Logger } from "#runtime/logger.ts";
import { InvalidOffer } from "../errors.ts";
import { linesWithoutCandidates } from "../transport/sdpAnswer.ts";
import { connectionOn, gatherSdpAnswer } from "../transport/sharedPort.ts";
import { startBurst } from "./burst.ts";
import { handleRequest } from "./requests.ts";

export interface TestConnectionOptions {
  id: string;
  /** The offer without its candidates: a browser's address is learned from its packets alone. */
  sdp: string;
  udpPort: number;
  maxKbps: number;
  log: Logger;
  now: () => number;
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
  log,
  now,
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
    clearTimeout(deadline);
    for (const end of ends) end();
    // The transport holds the callbacks of a channel until the channel itself is closed, and with them all
    // that they refer to.
    for (const channel of channels.values()) channel.close();
    connection.close();
    onClosed();
  };
  const deadline = setTimeout(close, connectionTest.durationSeconds * 1_000);
  /** A page may be gone before the transport says so. A send throws then. */
  const orEnd = <T>(use: () => T, otherwise: T): T => {
    if (isClosed) return otherwise;
    try {
      return use();
    } catch (error) {
      log.debug({ test: id, err: error }, "A test's page is gone.");
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
        now,
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
    log.debug({ test: id, state }, "A test's connection changed.");
    if (state === "failed" || state === "closed" || state === "disconnected") close();
  });
  return {
    async open() {
      try {
        return linesWithoutCandidates(await gatherSdpAnswer(connection, sdp)).join("\r\n") + "\r\n";
      } catch (error) {
        close();
        throw InvalidOffer.because(error);
      }
    },
    close,
  };
}

import type { Clock } from "#runtime/scheduling/clock.ts";
import { randomUUID } from "node:crypto";
import nodeDataChannel from "node-datachannel";
import type { TestSdpAnswer } from "#contracts/connectionTest.ts";
import type { Logger } from "#runtime/logger.ts";
import { invalidOffer, nodeBusy } from "../errors.ts";
import { readLines, buildTransportOffer } from "../transport/sdp.ts";
import { reservePort } from "../transport/sharedPort.ts";
import type { Config } from "./config.ts";
import { createTestConnection, type TestConnection } from "./connection.ts";

/**
 * Size of the transport's send queue: large enough for the maximum bitrate over a round trip of 200 ms, small
 * enough to drain soon after a burst.
 */
const sendBufferBytes = 300_000;

export interface ResponderOptions {
  config: Pick<Config, "udpPort" | "nodeName" | "addresses" | "maxTests" | "maxKbps">;
  logger: Logger;
  clock: Pick<Clock, "monotonicMs" | "setTimer">;
}

/**
 * Answers pages that test their connection to this node: a bounded number of tests in parallel, one per
 * player.
 */
export interface Responder {
  /**
   * Answers a player's offer and ends that player's earlier test.
   *
   * @throws DomainError invalid_offer, or not_ready when other players' tests use all capacity.
   */
  respond(offer: string, player: string): Promise<TestSdpAnswer>;
  /** Returns the number of running tests. */
  count(): number;
  close(): void;
}

export function createResponder({
  config: { udpPort, nodeName, addresses, maxTests, maxKbps },
  logger,
  clock,
}: ResponderOptions): Responder {
  const tests = new Map<string, TestConnection>();
  nodeDataChannel.setSctpSettings({ sendBufferSize: sendBufferBytes });
  const releasePort = reservePort(udpPort);
  return {
    async respond(offer, player) {
      const sdp = readOffer(offer);
      tests.get(player)?.close();
      if (tests.size >= maxTests) throw nodeBusy();
      const id = randomUUID();
      const test = createTestConnection({
        id,
        sdp,
        udpPort,
        maxKbps,
        logger,
        clock,
        onClosed: () => {
          if (tests.get(player) === test) tests.delete(player);
        },
      });
      tests.set(player, test);
      const sdpAnswer = await test.open();
      logger.info({ test: id, tests: tests.size }, "A connection test was answered.");
      return { sdp: sdpAnswer, nodeName, addresses, udpPort };
    },
    count: () => tests.size,
    close() {
      for (const test of [...tests.values()]) test.close();
      releasePort();
    },
  };
}

/**
 * Returns the offer for the transport.
 *
 * @throws DomainError invalid_offer when it is not a valid offer for data channels only.
 */
function readOffer(text: string): string {
  const lines = readLines(text);
  const media = lines.filter((line) => line.startsWith("m="));
  if (media.length !== 1 || media[0]?.startsWith("m=application ") !== true)
    throw invalidOffer("The offer must contain data channels only.");
  return buildTransportOffer(lines);
}

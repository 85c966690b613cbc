import type { Clock } from "#runtime/scheduling/clock.ts";
import { randomUUID } from "node:crypto";
import nodeDataChannel from "node-datachannel";
import type { TestSdpAnswer } from "#contracts/connectionTest.ts";
import type { Logger } from "#runtime/logger.ts";
import { invalidOffer, nodeBusy } from "../errors.ts";
import { linesOfOffer, withoutCandidates } from "../transport/sdp.ts";
import { reservePort } from "../transport/sharedPort.ts";
import type { Config } from "./config.ts";
import { createTestConnection, type TestConnection } from "./connection.ts";

/**
 * The transport's own queue: enough for the limit's bitrate over a round trip of 200 ms, and little enough to
 * be empty soon after a burst.
 */
const sendBufferBytes = 300_000;

export interface ResponderOptions {
  config: Pick<Config, "udpPort" | "nodeName" | "addresses" | "maxTests" | "maxKbps">;
  logger: Logger;
  clock: Pick<Clock, "monotonicMs" | "setTimer">;
}

/**
 * Answers the offers of pages that test their connection to this node: a bounded number at once, and one of
 * each player.
 */
export interface Responder {
  /**
   * Answers a player's offer; their earlier test ends. Throws InvalidOffer, and NodeBusy while others' tests
   * take all there is.
   */
  respond(offer: string, player: string): Promise<TestSdpAnswer>;
  /** Tests that go on. */
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
      const sdp = offerWithoutCandidates(offer);
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
 * Returns the offer for the transport. Throws InvalidOffer when it is none, or is for more than data
 * channels.
 */
function offerWithoutCandidates(text: string): string {
  const lines = linesOfOffer(text);
  const media = lines.filter((line) => line.startsWith("m="));
  if (media.length !== 1 || media[0]?.startsWith("m=application ") !== true)
    throw invalidOffer("The offer must be for data channels alone.");
  return withoutCandidates(lines);
}

import type { ClusterView } from "../cluster/clusterView.ts";
import { DomainError, unavailable } from "../errors.ts";
import type { Logger } from "#runtime/logger.ts";
import { withCandidates } from "./sdpCandidates.ts";
import type { TestResponders } from "./testResponders.ts";

/** What starting a connection test needs. */
export interface StartDeps {
  cluster: ClusterView;
  logger: Logger;
  /** Undefined where this installation has none. */
  testResponders: TestResponders | undefined;
}

const busyRetrySeconds = 10;

/**
 * Returns the SDP answer of a responder on some game node, with the addresses that sessions on that node
 * announce. Throws unavailable when no node has one, no_servers when all that were asked are busy, and
 * invalid_offer.
 */
export async function startConnectionTest(
  { cluster, logger, testResponders }: StartDeps,
  offer: string,
  userId: string,
): Promise<string> {
  if (testResponders === undefined) throw unavailable("This installation has no connection test.");
  const outcome = await testResponders.ask(offer, userId);
  if ("sdpAnswer" in outcome) {
    const { sdp, addresses, nodeName, udpPort } = outcome.sdpAnswer;
    // The addresses that sessions announce, so the test finds what a game would.
    const announced = cluster.gameNode(nodeName)?.status?.addresses?.announced ?? addresses;
    return withCandidates(sdp, announced, udpPort);
  }
  switch (outcome.refused) {
    case "offer":
      throw new DomainError("invalid_offer", { message: outcome.message });
    case "busy":
      throw new DomainError("no_servers", {
        message: "Other players test their connection just now: try again in a few seconds.",
        retryAfterSeconds: busyRetrySeconds,
      });
    case "absent":
      logger.warn({ err: outcome.cause }, "No game node answers connection tests.");
      throw unavailable(
        "No game server can test the connection just now: try again in a moment.",
        outcome.cause,
      );
  }
}

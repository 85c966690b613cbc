import { isOngoing } from "#contracts/crd/sessionState.ts";
import type { StreamTicketResponse } from "#contracts/http/gameSessions.ts";
import { limits } from "#contracts/limits.ts";
import type { StreamGrant } from "../auth/streamTickets.ts";
import { unavailable } from "../errors.ts";
import { streamPath } from "../gameSessions/present.ts";
import { followStreamer, notRunning, type FindStreamerDeps } from "./findStreamer.ts";
import type { StreamerTicketDeps } from "./streamerTicket.ts";

/** What issuing a ticket needs. */
export interface IssueDeps extends FindStreamerDeps, StreamerTicketDeps {
  config: { baseUrl: string };
}

/**
 * Returns a ticket to the user's own session, starting or running. Throws not_found, and not_running after
 * its end began.
 */
export async function issueStreamTicket(deps: IssueDeps, grant: StreamGrant): Promise<StreamTicketResponse> {
  const { status, ticketPublicKey } = (await followStreamer(deps, grant.userId, grant.sessionId)).current();
  if (!isOngoing(status)) throw notRunning();
  // The session's own key, so that its streamer takes the ticket as well; any key of ours where it has none.
  const issued = deps.streamTickets.issue(
    grant,
    limits.streamTicket.lifetimeSeconds,
    ticketPublicKey ?? deps.streamTickets.publicKey,
  );
  if (issued === undefined)
    throw unavailable("This session cannot be connected to any more: stop it and launch the game again.");
  return {
    ticket: issued.ticket,
    role: grant.role,
    expiresAt: issued.expiresAt.toISOString(),
    url: `${deps.config.baseUrl}${streamPath}/${grant.sessionId}`,
  };
}

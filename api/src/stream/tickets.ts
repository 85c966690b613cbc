import type { StreamTicketResponse } from "#contracts/http/gameSessions.ts";
import { limits } from "#contracts/limits.ts";
import { isOngoing } from "#contracts/crd/sessionState.ts";
import type { StreamGrant } from "../auth/streamTickets.ts";
import { unavailable } from "../errors.ts";
import { streamPath } from "../gameSessions/sessions/present.ts";
import { followStreamer, notRunning, type StreamerLocation } from "./findStreamer.ts";
import type { Deps } from "../deps.ts";

/**
 * Returns a ticket to the user's session, starting or running.
 *
 * @throws DomainError `not_found`, or `not_running` once its end has begun.
 */
export async function issueStreamTicket(
  deps: Pick<Deps, "config" | "postgres" | "databaseOutages" | "cluster" | "streamTickets">,
  grant: StreamGrant,
): Promise<StreamTicketResponse> {
  const { status, ticketPublicKey } = (await followStreamer(deps, grant.userId, grant.sessionId)).current();
  if (!isOngoing(status)) throw notRunning();
  // Signs with the session's key, which its streamer accepts; any current key if it has none.
  const issued = deps.streamTickets.issue(
    grant,
    limits.streamTicket.lifetimeSeconds,
    ticketPublicKey ?? deps.streamTickets.publicKey,
  );
  if (issued === undefined)
    throw unavailable("This session can no longer be joined. Stop it and launch the game again.");
  return {
    ticket: issued.ticket,
    role: grant.role,
    expiresAt: issued.expiresAt.toISOString(),
    url: `${deps.config.baseUrl}${streamPath}/${grant.sessionId}`,
  };
}

/**
 * Returns the ticket of a request that is forwarded to a session's streamer; undefined if it requires none.
 *
 * @throws DomainError `unavailable` if the key that the session was launched with is gone.
 */
export function ticketForStreamer(
  { streamTickets, logger }: Pick<Deps, "streamTickets" | "logger">,
  grant: StreamGrant,
  { ticketPublicKey }: Pick<StreamerLocation, "ticketPublicKey">,
): string | undefined {
  if (ticketPublicKey === undefined) return undefined;
  const issued = streamTickets.issue(grant, limits.streamTicket.proxyLifetimeSeconds, ticketPublicKey);
  if (issued !== undefined) return issued.ticket;
  logger.warn(
    { gameSession: grant.sessionId },
    "No ticket can be signed for a game session: the key it was launched with is no longer in SIGNING_KEYS.",
  );
  throw unavailable("This session can no longer be joined. Stop it and launch the game again.");
}

import { limits } from "#contracts/limits.ts";
import type { Logger } from "#runtime/logger.ts";
import type { StreamGrant, StreamTickets } from "../auth/streamTickets.ts";
import { unavailable } from "../errors.ts";
import type { StreamerLocation } from "./findStreamer.ts";

/** What signing a ticket for a request to a streamer needs. */
export interface StreamerTicketDeps {
  streamTickets: StreamTickets;
  logger: Logger;
}

/**
 * Returns the ticket of a request that is passed on to a session's streamer; undefined where that asks for
 * none. Throws unavailable when the key that the session was launched with is gone.
 */
export function ticketForStreamer(
  { streamTickets, logger }: StreamerTicketDeps,
  grant: StreamGrant,
  { ticketPublicKey }: Pick<StreamerLocation, "ticketPublicKey">,
): string | undefined {
  if (ticketPublicKey === undefined) return undefined;
  const issued = streamTickets.issue(grant, limits.streamTicket.proxyLifetimeSeconds, ticketPublicKey);
  if (issued !== undefined) return issued.ticket;
  logger.warn(
    { gameSession: grant.sessionId },
    "No ticket can be signed for a game session: the signing key that it was launched with is not among SIGNING_KEYS any more.",
  );
  throw unavailable("This session cannot be connected to any more: stop it and launch the game again.");
}

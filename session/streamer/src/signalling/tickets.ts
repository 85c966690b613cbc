import type { IncomingMessage } from "node:http";
import { readTicket, ticketVerifyingKey, type TicketClaims } from "#contracts/streamTicket.ts";
import type { ViewerRole } from "#contracts/viewerRole.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";
import { forbidden, unauthorized } from "../errors.ts";
import type { TicketHolder } from "../transport/viewer.ts";
import { requireTicket } from "./http.ts";

export interface TicketsOptions {
  /** The session of this pod. */
  sessionId: string;
  /** Public key of viewers' tickets. Undefined for sessions without tickets, whose offers need none. */
  viewerKey: string | undefined;
  /** Public key of the operator's tickets. */
  operatorKey: string;
  clock: Pick<Clock, "now">;
}

/**
 * Decides from its ticket what a request may do. The source address does not count: a game shares the
 * streamer's loopback interface.
 */
export interface Tickets {
  /**
   * Returns the viewer that the ticket names.
   *
   * @throws DomainError unauthorized, or forbidden for another session's or the operator's ticket.
   */
  admitViewer(request: IncomingMessage): TicketHolder;
  /** @throws DomainError unauthorized, or forbidden for another session's or a viewer's ticket. */
  admitOperator(request: IncomingMessage): void;
}

/** The viewer of a session without tickets. */
const anonymousPlayer: TicketHolder = { viewer: "", role: "play" };

/** Returns the ticket checks of one session. */
export function createTickets({ sessionId, viewerKey, operatorKey, clock }: TicketsOptions): Tickets {
  const keys = {
    viewer: viewerKey === undefined ? undefined : ticketVerifyingKey(viewerKey),
    operator: ticketVerifyingKey(operatorKey),
  };
  /** Accepts from each key only the roles that it may sign. */
  const verify = (request: IncomingMessage): TicketClaims => {
    const ticket = requireTicket(request);
    const viewers = keys.viewer && readTicket(ticket, keys.viewer, clock.now());
    if (viewers !== undefined && isViewerRole(viewers.role)) return viewers;
    const operators = readTicket(ticket, keys.operator, clock.now());
    if (operators?.role === "operate") return operators;
    throw unauthorized();
  };
  const verifyForSession = (request: IncomingMessage): TicketClaims => {
    const claims = verify(request);
    if (claims.aud !== sessionId) throw forbidden("This ticket is for another session.");
    return claims;
  };
  return {
    admitViewer(request) {
      if (keys.viewer === undefined) return anonymousPlayer;
      const { sub, role } = verifyForSession(request);
      if (!isViewerRole(role))
        throw forbidden("This ticket is for the streamer's status, not for its stream.");
      return { viewer: sub, role };
    },
    admitOperator(request) {
      if (verifyForSession(request).role !== "operate")
        throw forbidden("Only the operator may read the streamer's status.");
    },
  };
}

function isViewerRole(role: TicketClaims["role"]): role is ViewerRole {
  return role !== "operate";
}

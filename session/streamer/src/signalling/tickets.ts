import type { IncomingMessage } from "node:http";
import type { ViewerRole } from "#contracts/viewerRole.ts";
import { bearerTicket, readTicket, ticketVerifyingKey, type TicketClaims } from "#contracts/streamTicket.ts";
import { Forbidden, Unauthorized } from "../errors.ts";
import type { TicketHolder } from "../transport/viewer.ts";

export interface TicketsOptions {
  /** The session of this pod. */
  sessionId: string;
  /**
   * Public key of viewers' tickets; undefined for a session of a version without tickets, whose offers need
   * none.
   */
  viewerKey: string | undefined;
  /** Public key of the operator's tickets. */
  operatorKey: string;
  /** The wall clock. */
  now: () => Date;
}

/**
 * Decides by a request's ticket what it may do. Where it came from does not count: a game shares its
 * streamer's loopback.
 */
export interface Tickets {
  /**
   * Returns who the viewer is. Throws Unauthorized, and Forbidden for a ticket of another session or the
   * operator's.
   */
  admitViewer(request: IncomingMessage): TicketHolder;
  /** Throws Unauthorized, and Forbidden for a ticket of another session or a viewer's. */
  admitOperator(request: IncomingMessage): void;
}

/** The viewer of an offer to a session that knows no tickets. */
const anybody: TicketHolder = { viewer: "", role: "play" };

export function createTickets({ sessionId, viewerKey, operatorKey, now }: TicketsOptions): Tickets {
  const keys = {
    viewer: viewerKey === undefined ? undefined : ticketVerifyingKey(viewerKey),
    operator: ticketVerifyingKey(operatorKey),
  };
  /** Each key signs its own roles only. */
  const genuine = (request: IncomingMessage): TicketClaims => {
    // Node passes on only one of two such headers. A request with two is refused, because nothing says which
    // of them counts.
    const { authorization = [] } = request.headersDistinct;
    const ticket = authorization.length === 1 ? bearerTicket(authorization[0]) : undefined;
    if (ticket === undefined) throw new Unauthorized();
    const viewers = keys.viewer && readTicket(ticket, keys.viewer, now());
    if (viewers !== undefined && isViewerRole(viewers.role)) return viewers;
    const operators = readTicket(ticket, keys.operator, now());
    if (operators?.role === "operate") return operators;
    throw new Unauthorized();
  };
  const ofThisSession = (claims: TicketClaims): TicketClaims => {
    if (claims.aud !== sessionId) throw new Forbidden("This ticket is for another session.");
    return claims;
  };
  return {
    admitViewer(request) {
      if (keys.viewer === undefined) return anybody;
      const { sub, role } = ofThisSession(genuine(request));
      if (!isViewerRole(role))
        throw new Forbidden("This ticket is for the streamer's status, not for its stream.");
      return { viewer: sub, role };
    },
    admitOperator(request) {
      if (ofThisSession(genuine(request)).role !== "operate")
        throw new Forbidden("The streamer's status is for the operator.");
    },
  };
}

function isViewerRole(role: TicketClaims["role"]): role is ViewerRole {
  return role !== "operate";
}

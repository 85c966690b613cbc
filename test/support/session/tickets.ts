import { randomBytes } from "node:crypto";
import {
  signTicket,
  ticketPublicKeyOf,
  ticketSigningKey,
  type TicketClaims,
} from "#contracts/streamTicket.ts";

/** Signs tickets in place of API and operator, for a streamer tested without them. */
export class TestTickets {
  readonly sessionId: string;
  readonly #viewers = ticketSigningKey(randomBytes(32));
  readonly #operator = ticketSigningKey(randomBytes(32));

  constructor(sessionId: string) {
    this.sessionId = sessionId;
  }

  /** Variables for the streamer. */
  get environment(): Record<string, string> {
    return {
      SESSION_ID: this.sessionId,
      TICKET_PUBLIC_KEY: ticketPublicKeyOf(this.#viewers),
      OPERATOR_PUBLIC_KEY: ticketPublicKeyOf(this.#operator),
    };
  }

  /** Returns a viewer's ticket, to play unless the claims say otherwise. */
  viewer(claims: Partial<TicketClaims> = {}): string {
    return signTicket({ ...this.#claims("play"), ...claims }, this.#viewers);
  }

  /** Returns the operator's ticket. */
  operator(claims: Partial<TicketClaims> = {}): string {
    return signTicket({ ...this.#claims("operate"), ...claims }, this.#operator);
  }

  #claims(role: TicketClaims["role"]): TicketClaims {
    const nowSeconds = Math.floor(Date.now() / 1_000);
    return { aud: this.sessionId, sub: "player", role, iat: nowSeconds, exp: nowSeconds + 60 };
  }
}

/** Returns the headers of a request with a ticket. */
export function bearing(ticket: string): { authorization: string } {
  return { authorization: `Bearer ${ticket}` };
}

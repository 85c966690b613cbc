import { randomBytes } from "node:crypto";
import {
  signTicket,
  ticketPublicKeyOf,
  ticketSigningKey,
  type TicketClaims,
} from "#contracts/streamTicket.ts";

/** What a streamer that is tested without API and operator takes tickets of: this stands for both. */
export class TestTickets {
  readonly sessionId: string;
  readonly #viewers = ticketSigningKey(randomBytes(32));
  readonly #operator = ticketSigningKey(randomBytes(32));

  constructor(sessionId: string) {
    this.sessionId = sessionId;
  }

  /** The streamer's variables. */
  get environment(): Record<string, string> {
    return {
      SESSION_ID: this.sessionId,
      TICKET_PUBLIC_KEY: ticketPublicKeyOf(this.#viewers),
      OPERATOR_PUBLIC_KEY: ticketPublicKeyOf(this.#operator),
    };
  }

  /** A viewer's ticket, to play unless the claims say otherwise. */
  viewer(claims: Partial<TicketClaims> = {}): string {
    return signTicket({ ...this.#claims("play"), ...claims }, this.#viewers);
  }

  /** The operator's ticket. */
  operator(claims: Partial<TicketClaims> = {}): string {
    return signTicket({ ...this.#claims("operate"), ...claims }, this.#operator);
  }

  #claims(role: TicketClaims["role"]): TicketClaims {
    const nowSeconds = Math.floor(Date.now() / 1_000);
    return { aud: this.sessionId, sub: "player", role, iat: nowSeconds, exp: nowSeconds + 60 };
  }
}

/** The headers of a request that has a ticket. */
export function bearing(ticket: string): { authorization: string } {
  return { authorization: `Bearer ${ticket}` };
}

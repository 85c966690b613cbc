import { hkdfSync, randomBytes } from "node:crypto";
import type { Clock } from "#runtime/clock.ts";
import { signTicket, ticketPublicKeyOf, ticketSigningKey } from "#contracts/streamTicket.ts";

const lifetimeSeconds = 60;

/** Signs the operator's own tickets to streamers, which say how a stream is and nothing of whose it is. */
export interface OperatorTickets {
  /** Written into each session's pod: what checks these tickets and signs none. */
  publicKey: string;
  /** Returns a ticket to the streamer of this session. */
  sign(gameSession: string): string;
}

/** Makes them of a secret that the operator's processes share; without one each process has a key of its own, which ends with it. */
export function createOperatorTickets(secret: Buffer | undefined, clock: Clock): OperatorTickets {
  const key = ticketSigningKey(Buffer.from(hkdfSync("sha256", secret ?? randomBytes(32), "", "joypod operator", 32)));
  return {
    publicKey: ticketPublicKeyOf(key),
    sign(gameSession) {
      const iat = Math.floor(clock.now().getTime() / 1_000);
      return signTicket({ aud: gameSession, sub: "operator", role: "operate", iat, exp: iat + lifetimeSeconds }, key);
    },
  };
}

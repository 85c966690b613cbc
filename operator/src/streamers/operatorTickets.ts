import { hkdfSync, randomBytes } from "node:crypto";
import type { Clock } from "#runtime/scheduling/clock.ts";
import { signTicket, ticketPublicKeyOf, ticketSigningKey } from "#contracts/streamTicket.ts";

const lifetimeSeconds = 60;

/** Signs the operator's own tickets to streamers, which say how a stream is and nothing of whose it is. */
export interface OperatorTickets {
  /** The key that each session's pod gets: it checks these tickets and cannot sign any. */
  publicKey: string;
  /** Returns a ticket to the streamer of this session. */
  sign(gameSession: string): string;
}

/**
 * Returns what signs tickets with a key made of a secret that the operator's processes share. Without a
 * secret each process has a key of its own, which ends with the process.
 */
export function createOperatorTickets(secret: Buffer | undefined, clock: Clock): OperatorTickets {
  const key = ticketSigningKey(
    Buffer.from(hkdfSync("sha256", secret ?? randomBytes(32), "", "joypod operator", 32)),
  );
  return {
    publicKey: ticketPublicKeyOf(key),
    sign(gameSession) {
      const iat = Math.floor(clock.now().getTime() / 1_000);
      return signTicket(
        { aud: gameSession, sub: "operator", role: "operate", iat, exp: iat + lifetimeSeconds },
        key,
      );
    },
  };
}

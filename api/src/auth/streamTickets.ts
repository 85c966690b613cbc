import type { KeyObject } from "node:crypto";
import type { Clock } from "#runtime/scheduling/clock.ts";
import type { ViewerRole } from "#contracts/viewerRole.ts";
import {
  readTicket,
  signTicket,
  ticketPublicKeyOf,
  ticketSigningKey,
  ticketVerifyingKey,
} from "#contracts/streamTicket.ts";
import { deriveKey } from "./tokens.ts";

/** Who may connect to the stream of which session, and as what. */
export interface StreamGrant {
  sessionId: string;
  userId: string;
  role: ViewerRole;
}

/**
 * Returns the name by which a viewer is counted. Who watches has one apart from the player's: a watcher is to
 * use up nothing of theirs.
 */
export function viewerNameOf({ userId, role }: Pick<StreamGrant, "userId" | "role">): string {
  return role === "watch" ? `${userId}.watch` : userId;
}

/** A signed ticket, and when it ends. */
export interface IssuedTicket {
  ticket: string;
  expiresAt: Date;
}

/**
 * Signs and checks tickets to sessions' streams. A session knows the public key that was the first at its
 * launch; its tickets are signed by that one for as long as it is among the signing keys, so that a new key
 * in front of it, which all replicas know already, cuts no session.
 */
export class StreamTickets {
  /** The public key of sessions that are launched now. */
  readonly publicKey: string;
  /** By public key; the first one is of sessions that are launched now. */
  readonly #keys: ReadonlyMap<string, { signing: KeyObject; verifying: KeyObject }>;
  readonly #clock: Clock;

  /** Of `signingKeys` the first signs, and all verify, as for the session tokens. */
  constructor(signingKeys: ReadonlyMap<string, Buffer>, clock: Clock) {
    this.#keys = new Map(
      [...signingKeys.values()].map((secret) => {
        const signing = ticketSigningKey(deriveKey(secret, "stream"));
        const publicKey = ticketPublicKeyOf(signing);
        return [publicKey, { signing, verifying: ticketVerifyingKey(publicKey) }];
      }),
    );
    const [publicKey] = this.#keys.keys();
    if (publicKey === undefined) throw new Error("There is no signing key.");
    this.publicKey = publicKey;
    this.#clock = clock;
  }

  /**
   * Returns a ticket for so many seconds that streamers with this public key take; undefined when its private
   * key is not among ours any more.
   */
  issue(
    { sessionId, userId, role }: StreamGrant,
    lifetimeSeconds: number,
    publicKey: string,
  ): IssuedTicket | undefined {
    const key = this.#keys.get(publicKey);
    if (key === undefined) return undefined;
    const iat = Math.floor(this.#clock.now().getTime() / 1_000);
    const exp = iat + lifetimeSeconds;
    return {
      ticket: signTicket({ aud: sessionId, sub: userId, role, iat, exp }, key.signing),
      expiresAt: new Date(exp * 1_000),
    };
  }

  /** Returns what a ticket of ours grants; undefined for any other text, and for one that has expired. */
  read(ticket: string): StreamGrant | undefined {
    for (const { verifying } of this.#keys.values()) {
      const claims = readTicket(ticket, verifying, this.#clock.now());
      if (claims !== undefined && claims.role !== "operate")
        return { sessionId: claims.aud, userId: claims.sub, role: claims.role };
    }
    return undefined;
  }
}

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

/** The right of a user to connect to a session's stream in a role. */
export interface StreamGrant {
  sessionId: string;
  userId: string;
  role: ViewerRole;
}

/**
 * Returns the name under which a viewer is counted. Watchers are counted separately, so they use up nothing
 * of the player's.
 */
export function viewerNameOf({ userId, role }: Pick<StreamGrant, "userId" | "role">): string {
  return role === "watch" ? `${userId}.watch` : userId;
}

/** A signed ticket with its expiry. */
export interface IssuedTicket {
  ticket: string;
  expiresAt: Date;
}

/**
 * Signs and checks tickets for sessions' streams. A session knows the public key that was first at its
 * launch, and its tickets are signed with that key as long as it is among the signing keys. A new key can
 * therefore be put first, once all replicas know it, without interrupting sessions.
 */
export class StreamTickets {
  /** The public key for sessions that are launched now. */
  readonly publicKey: string;
  /** Keys by public key; the first one is for sessions that are launched now. */
  readonly #keys: ReadonlyMap<string, { signing: KeyObject; verifying: KeyObject }>;
  readonly #clock: Clock;

  /** The first of `signingKeys` signs and all of them verify, as for the session tokens. */
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
   * Returns a ticket with the given lifetime for streamers with this public key; undefined when its private
   * key is no longer configured.
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

  /** Returns the grant of a valid ticket; undefined for an expired ticket and any other text. */
  read(ticket: string): StreamGrant | undefined {
    for (const { verifying } of this.#keys.values()) {
      const claims = readTicket(ticket, verifying, this.#clock.now());
      if (claims !== undefined && claims.role !== "operate")
        return { sessionId: claims.aud, userId: claims.sub, role: claims.role };
    }
    return undefined;
  }
}

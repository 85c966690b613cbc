import { createHash, createSecretKey, hkdfSync, randomBytes, type KeyObject } from "node:crypto";
import jsonwebtoken from "jsonwebtoken";
import koaJwt from "koa-jwt";
import { z } from "zod";
import type { Clock } from "#kube/clock.ts";
import type { AppContext } from "../routing/appContext.ts";

/** What a session token says. `sid` stays the same while the token is renewed: it names the sign-in. */
export const TokenClaims = z.object({
  sub: z.string().min(1),
  name: z.string(),
  email: z.string(),
  sid: z.string().regex(/^[A-Za-z0-9_-]{22}$/),
  iat: z.int(),
  exp: z.int(),
});
export type TokenClaims = z.infer<typeof TokenClaims>;

/** Clocks of replicas may differ by this much. */
const clockToleranceSeconds = 30;

export interface TokensOptions {
  /** By key id, newest first: the first signs, all verify. */
  signingKeys: ReadonlyMap<string, Buffer>;
  lifetimeSeconds: number;
  cookie: string;
  clock: Clock;
}

/** Makes and checks session tokens: HS256, nothing else. */
export class Tokens {
  readonly #keys: ReadonlyMap<string, KeyObject>;
  readonly #newestKid: string;
  readonly #lifetimeSeconds: number;
  readonly #clock: Clock;
  readonly #cookie: string;
  readonly #verifyCookie: (ctx: AppContext, next: () => Promise<void>) => Promise<void>;

  constructor({ signingKeys, lifetimeSeconds, cookie, clock }: TokensOptions) {
    const [newestKid] = signingKeys.keys();
    if (newestKid === undefined) throw new Error("There is no signing key.");
    this.#newestKid = newestKid;
    // KeyObjects: with raw bytes every signature would set the key up again, at a hundred times the cost.
    this.#keys = new Map([...signingKeys].map(([kid, key]) => [kid, createSecretKey(deriveKey(key, "session"))]));
    this.#lifetimeSeconds = lifetimeSeconds;
    this.#clock = clock;
    this.#cookie = cookie;
    const options = {
      cookie,
      key: "claims",
      algorithms: ["HS256"],
      clockTolerance: clockToleranceSeconds,
      // The package types know only raw keys; jsonwebtoken itself takes KeyObjects.
      secret: ({ kid }: { kid?: unknown }) => Promise.resolve(this.#keys.get(String(kid)) as unknown as Buffer),
      /** A getter, for jsonwebtoken reads it at each check. */
      get clockTimestamp() { return Math.floor(clock.now().getTime() / 1000); },
    };
    this.#verifyCookie = koaJwt(options);
  }

  /** A token for the sign-in `sid`, and when it ends: with its lifetime, or by `endsAt`. */
  issue(claims: Pick<TokenClaims, "sub" | "name" | "email" | "sid">, endsAt?: Date): { token: string; expiresAt: Date } {
    const iat = Math.floor(this.#clock.now().getTime() / 1000);
    const exp = Math.min(iat + this.#lifetimeSeconds, endsAt === undefined ? Infinity : Math.floor(endsAt.getTime() / 1000));
    const { sub, name, email, sid } = claims;
    const key = this.#keys.get(this.#newestKid);
    if (key === undefined) throw new Error("The newest signing key is gone.");
    const token = jsonwebtoken.sign({ sub, name, email, sid, iat, exp }, key, { algorithm: "HS256", keyid: this.#newestKid });
    return { token, expiresAt: new Date(exp * 1000) };
  }

  /** The claims in the request's cookie; undefined when they are missing, forged, expired or not ours. */
  async verify(ctx: AppContext): Promise<TokenClaims | undefined> {
    // Without this check the verifier would also take a Bearer header.
    if (ctx.cookies.get(this.#cookie) === undefined) return undefined;
    try {
      await this.#verifyCookie(ctx, () => Promise.resolve());
    } catch {
      return undefined; // Whatever was wrong with it, it is no token: the caller says so without saying why.
    }
    return TokenClaims.safeParse(ctx.state.claims).data;
  }
}

/** A new sign-in's id: 128 random bits. */
export function createSid(): string {
  return randomBytes(16).toString("base64url");
}

/** What is stored of a sid: a copy of the database lets nobody sign a token for it. */
export function authSessionIdOf(sid: string): string {
  return createHash("sha256").update(sid).digest("hex");
}

/** One key per purpose, so that no token can stand in for another. */
export function deriveKey(key: Buffer, purpose: "session" | "csrf" | "oauth"): Buffer {
  return Buffer.from(hkdfSync("sha256", key, "", `joypod ${purpose}`, 32));
}

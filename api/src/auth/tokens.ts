import {
  createSecretKey,
  hash,
  hkdfSync,
  randomBytes,
  type KeyObject,
  createHmac,
  timingSafeEqual,
} from "node:crypto";
import jsonwebtoken from "jsonwebtoken";
import type { ParameterizedContext } from "koa";
import koaJwt from "koa-jwt";
import { z } from "zod";
import type { Clock } from "#runtime/scheduling/clock.ts";

/** Claims of a session token. `sid` identifies the sign-in and stays the same when the token is renewed. */
export const TokenClaims = z.object({
  sub: z.string().min(1),
  name: z.string(),
  email: z.string(),
  sid: z.string().regex(/^[A-Za-z0-9_-]{22}$/),
  iat: z.int(),
  exp: z.int(),
});
export type TokenClaims = z.infer<typeof TokenClaims>;

/** Tolerated clock difference between replicas. */
const clockToleranceSeconds = 30;

/** Browsers do not store longer cookies. */
const tokenMaxLength = 4096;

/** Number of tokens that one process remembers: about a kilobyte each. */
const rememberedMax = 10_000;

/** A signed token with its expiry. */
interface IssuedToken {
  token: string;
  expiresAt: Date;
}

/** Configuration of session tokens. */
interface TokensOptions {
  /** By key id; the first key signs, all keys verify. */
  signingKeys: ReadonlyMap<string, Buffer>;
  lifetimeSeconds: number;
  cookie: string;
  clock: Clock;
}

/** A request with a cookie to check. `claims` holds the token's unverified claims. */
export type TokenContext = ParameterizedContext<{ claims?: unknown }>;

/** Creates and verifies session tokens, with HS256 only. */
export class Tokens {
  readonly #keys: ReadonlyMap<string, KeyObject>;
  readonly #signingKid: string;
  readonly #lifetimeSeconds: number;
  readonly #clock: Clock;
  readonly #cookie: string;
  /**
   * The claims of valid tokens, newest last. Browsers mostly send their newest token to the process that
   * signed it, which need not verify its own signature.
   */
  readonly #remembered = new Map<string, TokenClaims>();
  /** The last renewal of each remembered token, by its claims. */
  readonly #renewals = new WeakMap<object, IssuedToken & { iat: number; exp: number }>();
  /** Each remembered token with the token that it replaced, by its claims. */
  readonly #tokens = new WeakMap<object, string>();
  readonly #replaced = new WeakMap<object, string>();
  readonly #verifyCookie: (ctx: TokenContext, next: () => Promise<void>) => Promise<void>;

  constructor({ signingKeys, lifetimeSeconds, cookie, clock }: TokensOptions) {
    const [signingKid] = signingKeys.keys();
    if (signingKid === undefined) throw new Error("There is no signing key.");
    this.#signingKid = signingKid;
    // KeyObjects, because raw bytes would make every signature prepare the key again, at a hundred times the
    // cost.
    this.#keys = new Map(
      [...signingKeys].map(([kid, key]) => [kid, createSecretKey(deriveKey(key, "session"))]),
    );
    this.#lifetimeSeconds = lifetimeSeconds;
    this.#clock = clock;
    this.#cookie = cookie;
    const options = {
      cookie,
      key: "claims",
      algorithms: ["HS256"],
      clockTolerance: clockToleranceSeconds,
      // The package types know only raw keys; jsonwebtoken itself takes KeyObjects.
      secret: ({ kid }: { kid?: unknown }) =>
        Promise.resolve(this.#keys.get(String(kid)) as unknown as Buffer),
      /** A getter, because jsonwebtoken reads it at each check. */
      get clockTimestamp() {
        return Math.floor(clock.now().getTime() / 1000);
      },
    };
    this.#verifyCookie = koaJwt(options);
  }

  /**
   * Returns a token for the sign-in `sid` and its expiry: after the token's lifetime, or at `endsAt` if that
   * is earlier.
   */
  issue(claims: Pick<TokenClaims, "sub" | "name" | "email" | "sid">, endsAt?: Date): IssuedToken {
    const iat = this.#nowSeconds();
    const exp = Math.min(
      iat + this.#lifetimeSeconds,
      endsAt === undefined ? Infinity : Math.floor(endsAt.getTime() / 1000),
    );
    const before = this.#renewals.get(claims);
    // Within the same second it would be the same token.
    if (before?.iat === iat && before.exp === exp) return before;
    const { sub, name, email, sid } = claims;
    const renewed = { sub, name, email, sid, iat, exp };
    const issued = { token: this.#sign(renewed), expiresAt: new Date(exp * 1000), iat, exp };
    this.#remember(issued.token, renewed);
    this.#forgetObsolete(claims, renewed, before);
    this.#renewals.set(claims, issued);
    this.#renewals.set(renewed, issued);
    return issued;
  }

  /**
   * Returns the claims in the request's cookie; undefined when they are missing, forged, expired or of
   * another kind.
   */
  async verify(ctx: TokenContext): Promise<TokenClaims | undefined> {
    const token = ctx.cookies.get(this.#cookie);
    // Without a cookie, or with an empty one, the verifier would accept a Bearer header.
    if (token === undefined || token === "" || token.length > tokenMaxLength) return undefined;
    const remembered = this.#remembered.get(token);
    if (remembered !== undefined)
      return this.#nowSeconds() < remembered.exp + clockToleranceSeconds ? remembered : undefined;
    // The verifier would prefer a key from there to ours.
    if ("secret" in ctx.state)
      throw new Error(
        "ctx.state.secret is set. It must not be, because koa-jwt would accept tokens signed with it.",
      );
    try {
      await this.#verifyCookie(ctx, () => Promise.resolve());
    } catch {
      return undefined; // The caller does not learn what is wrong with it.
    }
    const claims = TokenClaims.safeParse(ctx.state.claims).data;
    if (claims !== undefined) this.#remember(token, claims);
    return claims;
  }

  #sign(claims: TokenClaims): string {
    const key = this.#keys.get(this.#signingKid);
    if (key === undefined) throw new Error("The signing key is missing.");
    return jsonwebtoken.sign(claims, key, { algorithm: "HS256", keyid: this.#signingKid });
  }

  /**
   * Forgets the token that was replaced by the one with these claims, because the browser has sent the newer
   * one, and an earlier renewal of it, because the browser has sent the older one again. Otherwise a busy
   * page would leave one token per second and evict those of players whose pages send few requests.
   */
  #forgetObsolete(claims: object, renewed: object, before: IssuedToken | undefined): void {
    const current = this.#tokens.get(claims);
    const replaced = this.#replaced.get(claims);
    if (replaced !== undefined) this.#remembered.delete(replaced);
    if (before !== undefined && before.token !== current) this.#remembered.delete(before.token);
    if (current !== undefined) this.#replaced.set(renewed, current);
  }

  #remember(token: string, claims: TokenClaims): void {
    this.#remembered.set(token, claims);
    this.#tokens.set(claims, token);
    for (const oldest of this.#remembered.keys()) {
      if (this.#remembered.size <= rememberedMax) break;
      this.#remembered.delete(oldest);
    }
  }

  #nowSeconds(): number {
    return Math.floor(this.#clock.now().getTime() / 1000);
  }
}

/** Returns the id of a new sign-in: 128 random bits. */
export function createSid(): string {
  return randomBytes(16).toString("base64url");
}

/**
 * Returns the digest that is stored for a sid, so a copy of the database does not allow signing a token for
 * it.
 */
export function authSessionIdOf(sid: string): string {
  return hash("sha256", sid, "hex");
}

/** Returns a key for a single purpose, so that no token can be used as another. */
export function deriveKey(
  key: Buffer,
  purpose: "session" | "csrf" | "oauth" | "audit" | "stream" | "webhook",
): Buffer {
  return Buffer.from(hkdfSync("sha256", key, "", `joypod ${purpose}`, 32));
}

/**
 * Returns the hash of an e-mail address for the audit trail; the address must be normalised. The hash does
 * not reveal the address without the pepper, and it does not depend on whether an account exists.
 */
export function accountHashOf(pepper: string, email: string): string {
  return createHmac("sha256", deriveKey(Buffer.from(pepper), "audit"))
    .update(email)
    .digest("hex")
    .slice(0, 32);
}

/**
 * Tokens of the sign-in and sign-out forms. The cookie contains `token|signature`, the form must contain the
 * same token.
 */
export class CsrfTokens {
  readonly #keys: Buffer[];

  /** The first of `signingKeys` signs and all of them verify, as for the session tokens. */
  constructor(signingKeys: ReadonlyMap<string, Buffer>) {
    this.#keys = [...signingKeys.values()].map((key) => deriveKey(key, "csrf"));
  }

  /** Returns a new token and its cookie. */
  create(): { token: string; cookie: string } {
    const token = randomBytes(32).toString("hex");
    const [newest] = this.#keys;
    if (newest === undefined) throw new Error("There is no signing key.");
    return { token, cookie: `${token}|${signatureOf(token, newest)}` };
  }

  /** Returns the token in a cookie; undefined if its signature is invalid. */
  read(cookie: string | undefined): string | undefined {
    const [, token, signature] = /^([0-9a-f]{64})\|([0-9a-f]{64})$/.exec(cookie ?? "") ?? [];
    if (token === undefined || signature === undefined) return undefined;
    return this.#keys.some((key) => isEqual(signature, signatureOf(token, key))) ? token : undefined;
  }

  /** Returns whether the form's token matches the cookie. */
  matches(cookie: string | undefined, formToken: string | undefined): boolean {
    const token = this.read(cookie);
    return token !== undefined && formToken !== undefined && isEqual(token, formToken);
  }
}

function signatureOf(token: string, key: Buffer): string {
  return createHmac("sha256", key).update(token).digest("hex");
}

function isEqual(left: string, right: string): boolean {
  const [a, b] = [Buffer.from(left), Buffer.from(right)];
  return a.length === b.length && timingSafeEqual(a, b);
}

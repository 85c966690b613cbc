import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { deriveKey } from "./tokens.ts";

/**
 * Tokens of the sign-in and sign-out forms: the cookie holds `token|signature`, the form must hold the same
 * token.
 */
export class CsrfTokens {
  readonly #keys: Buffer[];

  /** Of `signingKeys` the first signs, and all verify, as for the session tokens. */
  constructor(signingKeys: ReadonlyMap<string, Buffer>) {
    this.#keys = [...signingKeys.values()].map((key) => deriveKey(key, "csrf"));
  }

  /** Returns a new token and the cookie that belongs to it. */
  create(): { token: string; cookie: string } {
    const token = randomBytes(32).toString("hex");
    const [newest] = this.#keys;
    if (newest === undefined) throw new Error("There is no signing key.");
    return { token, cookie: `${token}|${signatureOf(token, newest)}` };
  }

  /** Returns the token in a cookie of ours; undefined for any other text. */
  read(cookie: string | undefined): string | undefined {
    const [, token, signature] = /^([0-9a-f]{64})\|([0-9a-f]{64})$/.exec(cookie ?? "") ?? [];
    if (token === undefined || signature === undefined) return undefined;
    return this.#keys.some((key) => isEqual(signature, signatureOf(token, key))) ? token : undefined;
  }

  /** Whether the form's token belongs to the cookie. */
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

import { createCipheriv, createDecipheriv, createHmac, randomBytes } from "node:crypto";
import { deriveKey } from "../auth/tokens.ts";

const ivBytes = 12;
const tagBytes = 16;
const secretBytes = 32;
const prefix = "whsec_";

/**
 * Encrypts the signing secrets of endpoints for the database with a dedicated key, which is derived from the
 * API's signing keys: the first of them seals, and all of them open. A sealed secret begins with the id of
 * its key.
 */
export class WebhookSecrets {
  readonly #keys: ReadonlyMap<string, Buffer>;
  /** Id of the key that seals. */
  readonly keyId: string;

  constructor(signingKeys: ReadonlyMap<string, Buffer>) {
    this.#keys = new Map([...signingKeys].map(([id, key]) => [id, deriveKey(key, "webhook")]));
    [this.keyId = ""] = signingKeys.keys();
  }

  /** Encrypts a secret. It opens for the same endpoint only. */
  seal(endpointId: string, secret: string): string {
    const key = this.#keys.get(this.keyId);
    if (key === undefined) throw new Error("There is no signing key.");
    const iv = randomBytes(ivBytes);
    const cipher = createCipheriv("aes-256-gcm", key, iv).setAAD(Buffer.from(endpointId));
    const text = Buffer.concat([cipher.update(secret, "utf8"), cipher.final()]);
    return `${this.keyId}.${Buffer.concat([iv, cipher.getAuthTag(), text]).toString("base64url")}`;
  }

  /** Decrypts a secret; undefined if its key is no longer configured. */
  open(endpointId: string, sealed: string): string | undefined {
    const [keyId = "", encoded = ""] = sealed.split(".");
    const key = this.#keys.get(keyId);
    const bytes = Buffer.from(encoded, "base64url");
    if (key === undefined || bytes.length <= ivBytes + tagBytes) return undefined;
    try {
      const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, ivBytes))
        .setAAD(Buffer.from(endpointId))
        .setAuthTag(bytes.subarray(ivBytes, ivBytes + tagBytes));
      return Buffer.concat([decipher.update(bytes.subarray(ivBytes + tagBytes)), decipher.final()]).toString(
        "utf8",
      );
    } catch {
      return undefined; // Another key has the same id.
    }
  }
}

/** Returns a new signing secret in the form of Standard Webhooks. */
export function createWebhookSecret(): string {
  return prefix + randomBytes(secretBytes).toString("base64");
}

/** What is signed. */
export interface SignedMessage {
  id: string;
  /** Seconds since the epoch. */
  timestamp: number;
  body: string;
}

/** Returns the header `webhook-signature`, with one signature for each secret. */
export function signaturesOf({ id, timestamp, body }: SignedMessage, secrets: readonly string[]): string {
  return secrets
    .map((secret) => {
      const key = Buffer.from(secret.slice(prefix.length), "base64");
      return `v1,${createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64")}`;
    })
    .join(" ");
}

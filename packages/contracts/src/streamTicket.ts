/**
 * Tickets for a session's streamer: compact JWS (RFC 7515) signed with Ed25519 (RFC 8037), sent as
 * `Authorization: Bearer <ticket>`. The API signs the tickets of viewers, and the operator signs its own. A
 * pod has the two public keys and cannot sign.
 */
import { createPrivateKey, createPublicKey, sign, verify, type KeyObject } from "node:crypto";
import { z } from "zod";
import { limits } from "./limits.ts";
import { ed25519PublicKey } from "./crd/schema.ts";
import { ViewerRole } from "./viewerRole.ts";

/** The permission of a ticket: a viewer's role, or reading the streamer's status and metrics. */
export const TicketRole = z.enum([...ViewerRole.options, "operate"]);
export type TicketRole = z.infer<typeof TicketRole>;

/** The claims of a ticket, named as in RFC 7519. Times are in seconds. */
export const TicketClaims = z.strictObject({
  /** Id of the game session. */
  aud: z.string().min(1).max(253),
  /** Id of the player, or name of another holder. */
  sub: z.string().min(1).max(253),
  role: TicketRole,
  iat: z.int().min(0),
  exp: z.int().min(0),
});
export type TicketClaims = z.infer<typeof TicketClaims>;

/** An Ed25519 public key as a JWK's `x`. */
export const TicketPublicKey = ed25519PublicKey;

const TicketHeader = z.strictObject({ alg: z.literal("EdDSA"), typ: z.literal("joypod-ticket+jwt") });
const header = encode({ alg: "EdDSA", typ: "joypod-ticket+jwt" } satisfies z.infer<typeof TicketHeader>);
const maxLength = 1_024;
/** DER prefix of an Ed25519 private key (RFC 8410), before its 32 bytes. */
const pkcs8Prefix = Buffer.from("302e020100300506032b657004220420", "hex");

/** Returns the private key with these 32 secret bytes. */
export function ticketSigningKey(seed: Buffer): KeyObject {
  return createPrivateKey({ key: Buffer.concat([pkcs8Prefix, seed]), format: "der", type: "pkcs8" });
}

/** Returns the public key of a private key, encoded for a spec or a pod. */
export function ticketPublicKeyOf(signingKey: KeyObject): string {
  return TicketPublicKey.parse(createPublicKey(signingKey).export({ format: "jwk" }).x);
}

/** Returns the key that verifies signatures. Throws if the text is not a public key. */
export function ticketVerifyingKey(publicKey: string): KeyObject {
  return createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x: publicKey }, format: "jwk" });
}

/** Signs a ticket with these claims. */
export function signTicket(claims: TicketClaims, signingKey: KeyObject): string {
  const signed = `${header}.${encode(claims)}`;
  return `${signed}.${sign(null, Buffer.from(signed), signingKey).toString("base64url")}`;
}

/**
 * Returns the claims of a valid ticket; undefined if it is malformed, signed with another key, or not valid
 * now. Clocks may differ by the leeway.
 */
export function readTicket(ticket: string, key: KeyObject, now: Date): TicketClaims | undefined {
  const parts = ticket.length > maxLength ? [] : ticket.split(".");
  const [head, body, signature] = parts;
  if (parts.length !== 3 || head === undefined || body === undefined || signature === undefined)
    return undefined;
  if (!TicketHeader.safeParse(decode(head)).success || !isCanonical(signature)) return undefined;
  if (!verify(null, Buffer.from(`${head}.${body}`), key, Buffer.from(signature, "base64url")))
    return undefined;
  const claims = TicketClaims.safeParse(decode(body)).data;
  return claims !== undefined && isCurrent(claims, now.getTime() / 1_000) ? claims : undefined;
}

/** Returns the ticket in an `Authorization` header; undefined without the header or in any other form. */
export function bearerTicket(authorization: string | undefined): string | undefined {
  return /^Bearer +([A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+)$/i.exec(authorization ?? "")?.[1];
}

function isCurrent({ iat, exp }: TicketClaims, nowSeconds: number): boolean {
  const { leewaySeconds } = limits.streamTicket;
  return iat <= nowSeconds + leewaySeconds && nowSeconds < exp + leewaySeconds;
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

/** Returns whether the text is the canonical encoding of its bytes. Node.js also accepts others. */
function isCanonical(part: string): boolean {
  return Buffer.from(part, "base64url").toString("base64url") === part;
}

function decode(part: string): unknown {
  if (!isCanonical(part)) return undefined;
  try {
    return JSON.parse(Buffer.from(part, "base64url").toString("utf8"));
  } catch {
    return undefined; // Not JSON.
  }
}

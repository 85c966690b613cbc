/**
 * Tickets to a session's streamer: compact JWS (RFC 7515) signed with Ed25519 (RFC 8037), as `Authorization:
 * Bearer <ticket>`. The API signs those of viewers, the operator its own; a pod holds the two public keys and
 * nothing that signs.
 */
import { createPrivateKey, createPublicKey, sign, verify, type KeyObject } from "node:crypto";
import { z } from "zod";
import { limits } from "./limits.ts";
import { ed25519PublicKey } from "./crd/schema.ts";
import { ViewerRole } from "./viewerRole.ts";

/** What a ticket is good for: a viewer's role, or reading the streamer's status and metrics. */
export const TicketRole = z.enum([...ViewerRole.options, "operate"]);
export type TicketRole = z.infer<typeof TicketRole>;

/** The claims of a ticket, by the names of RFC 7519; the times are in seconds. */
export const TicketClaims = z.strictObject({
  /** The game session, by its id, that the ticket is for. */
  aud: z.string().min(1).max(253),
  /** The player, by their id, or who else has the ticket. */
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
/** DER of an Ed25519 private key (RFC 8410), up to its 32 bytes. */
const pkcs8Prefix = Buffer.from("302e020100300506032b657004220420", "hex");

/** Returns the private key that 32 secret bytes stand for. */
export function ticketSigningKey(seed: Buffer): KeyObject {
  return createPrivateKey({ key: Buffer.concat([pkcs8Prefix, seed]), format: "der", type: "pkcs8" });
}

/** Returns the public key of a private one, as it is written into a spec or a pod. */
export function ticketPublicKeyOf(signingKey: KeyObject): string {
  return TicketPublicKey.parse(createPublicKey(signingKey).export({ format: "jwk" }).x);
}

/** Returns the key that checks signatures. Throws when the text is no public key. */
export function ticketVerifyingKey(publicKey: string): KeyObject {
  return createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x: publicKey }, format: "jwk" });
}

/** Returns the ticket with these claims. */
export function signTicket(claims: TicketClaims, signingKey: KeyObject): string {
  const signed = `${header}.${encode(claims)}`;
  return `${signed}.${sign(null, Buffer.from(signed), signingKey).toString("base64url")}`;
}

/**
 * Returns a ticket's claims; undefined when it is malformed, signed by another key, or not valid now by
 * clocks that differ by the leeway at most.
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

/**
 * Returns the ticket of an `Authorization` header; undefined without one, or when the header has another
 * form.
 */
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

/** Whether this is the one spelling of its bytes: Node itself reads others, too. */
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

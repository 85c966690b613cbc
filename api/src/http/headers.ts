import { z } from "zod";
import { playerHeader } from "#contracts/http/auth.ts";
import { tus } from "#contracts/http/resumableUploads.ts";
import { limits } from "#contracts/limits.ts";

const seconds = z
  .string()
  .regex(/^[1-9]\d*$/)
  .meta({ examples: ["12"] });
const limitItems = (item: string): RegExp => new RegExp(`^"\\w+";${item}(?:, "\\w+";${item})*$`);

const wholeNumber = z.string().regex(/^\d{1,15}$/);

/**
 * Headers that the description of a response can name. Headers of Node and Koa (Date, Content-Length) are not
 * listed.
 */
export const responseHeaders = {
  "API-Version": z.iso
    .date()
    .meta({ description: "Date of the newest change to the interface.", examples: ["2026-11-21"] }),
  "X-Request-Id": z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{7,63}$/)
    .meta({
      description: "Identifies this request in the logs. The client's own id if it sent a valid one.",
      examples: ["0123456789abcdefghjk"],
    }),
  "Cache-Control": z.string().meta({
    description:
      "Who may cache the response: nobody (`no-store`), only the client, which must revalidate it (`private, no-cache`), or everyone forever (`public, max-age=31536000, immutable`).",
    examples: ["no-store"],
  }),
  "Retry-After": seconds.meta({ description: "Seconds to wait before a retry." }),
  "RateLimit-Policy": z
    .string()
    .regex(limitItems("q=\\d+;w=\\d+"))
    .meta({
      description:
        "The limits that this request counts against: name, requests (`q`) and window in seconds (`w`).",
      examples: ['"partner";q=100;w=60'],
    }),
  RateLimit: z
    .string()
    .regex(limitItems("r=\\d+;t=\\d+"))
    .meta({
      description: "The state of each limit: requests left (`r`) and seconds until the window ends (`t`).",
      examples: ['"partner";r=57;t=12'],
    }),
  ETag: z
    .string()
    .regex(/^W\/"[^"]+"$/)
    .meta({
      description: "Identifies this version of the content. Send it back as `If-None-Match`.",
      examples: ['W/"VsZ2L6uHqYvrKkHk3WqkQg"'],
    }),
  Location: z
    .string()
    .min(1)
    .meta({
      description: "The address of what was created, or to go to.",
      examples: ["https://joypod.example/"],
    }),
  Link: z
    .string()
    .regex(/^<turns?:[^>]+>; rel="ice-server"/)
    .meta({
      description: "The relays with credentials, in the form that WHEP specifies.",
      examples: [
        '<turn:turn.joypod.example:3478?transport=udp>; rel="ice-server"; username="1800000000:cm3qk1x2v0001"; credential="…"; credential-type="password"',
      ],
    }),
  "Set-Cookie": z
    .string()
    .min(1)
    .meta({
      description: "A cookie that is set, renewed or cleared.",
      examples: ["auth.session-token=…; HttpOnly; SameSite=Lax; Path=/"],
    }),
  Allow: z
    .string()
    .min(1)
    .meta({ description: "The methods that the address supports.", examples: ["HEAD, GET, OPTIONS"] }),
  Accept: z
    .string()
    .min(1)
    .meta({ description: "The media types that the route accepts.", examples: ["application/json"] }),
  "Accept-Encoding": z
    .string()
    .min(1)
    .meta({
      description: "`identity`, when the body was encoded: no route accepts encoded bodies.",
      examples: ["identity"],
    }),
  "WWW-Authenticate": z
    .string()
    .regex(/^Bearer /)
    .meta({
      description: "The required kind of credential.",
      examples: ['Bearer realm="joypod partners"'],
    }),
  "Repr-Digest": z
    .string()
    .regex(/^sha-256=:[A-Za-z0-9+/]{43}=:$/)
    .meta({
      description: "SHA-256 of the stored content (RFC 9530).",
      examples: ["sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:"],
    }),
  "Content-Disposition": z
    .string()
    .regex(/^attachment; filename="[\w.-]+"$/)
    .meta({
      description: "The suggested file name.",
      examples: ['attachment; filename="moonlight-drift-slot1-20261121-180405.tar.gz"'],
    }),
  "Upload-Limit": z
    .string()
    .regex(/^max-size=\d+$/)
    .meta({ description: "Largest archive, in bytes.", examples: ["max-size=10737418240"] }),
  "Tus-Resumable": z.literal(tus.version).meta({
    description: "Version of the tus protocol.",
    examples: [tus.version],
  }),
  "Upload-Offset": wholeNumber.meta({ description: "Stored bytes of the upload.", examples: ["67108864"] }),
  "Upload-Length": wholeNumber.meta({ description: "Bytes of the archive.", examples: ["73400320"] }),
  "Upload-Expires": z
    .string()
    .regex(/ GMT$/)
    .meta({
      description: "When an unfinished upload is removed.",
      examples: ["Sat, 28 Nov 2026 18:04:05 GMT"],
    }),
  "Upload-Metadata": z
    .string()
    .min(1)
    .meta({ description: "As given at the creation.", examples: ["label MS40LjI="] }),
  "Tus-Version": z.literal(tus.version).meta({
    description: "The supported version of the tus protocol.",
    examples: [tus.version],
  }),
  "Idempotency-Replayed": z.literal("true").meta({
    description: "The response was stored by an earlier request with the same `Idempotency-Key`.",
    examples: ["true"],
  }),
} as const satisfies Record<string, z.ZodType>;

export type HeaderName = keyof typeof responseHeaders;

const { keyMaxLength } = limits.idempotency;

/**
 * Every request header that a route can name, beyond those of HTTP itself; all are optional. Players' routes
 * also accept `Joypod-Player` without naming it.
 */
export const requestHeaders = {
  "If-None-Match": z.string().meta({
    description: "`ETag` of the client's copy. The response is 304 if it is unchanged.",
    examples: ['W/"VsZ2L6uHqYvrKkHk3WqkQg"'],
  }),
  "If-Match": z.string().meta({
    description: "`ETag` of the version that the change is based on. The response is 412 if it has changed.",
    examples: ['W/"VsZ2L6uHqYvrKkHk3WqkQg"'],
  }),
  "Idempotency-Key": z
    .string()
    .min(1)
    .max(keyMaxLength + 2)
    .meta({
      description: `A random key that the client chooses. For 24 hours, a retry with the same key gets the stored response. At most ${keyMaxLength} characters, without the quotes.`,
      examples: ['"8e03978e-40d5-43dd-bc93-6894a57f9324"'],
    }),
  "Content-Digest": z.string().meta({
    description: "Digest of the body (RFC 9530, sha-256 or sha-512), checked before anything is stored.",
    examples: ["sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:"],
  }),
  "Repr-Digest": z.string().meta({
    description: "An alias of `Content-Digest`.",
    examples: ["sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:"],
  }),
  "Tus-Resumable": z
    .string()
    .max(16)
    .meta({ description: "Version of the tus protocol, `1.0.0`.", examples: [tus.version] }),
  "Upload-Length": wholeNumber.meta({ description: "Bytes of the archive.", examples: ["73400320"] }),
  "Upload-Offset": wholeNumber.meta({
    description:
      "Where the chunk starts: the upload's `Upload-Offset`. The response is 409 if it is another.",
    examples: ["67108864"],
  }),
  "Upload-Metadata": z
    .string()
    .max(limits.partner.uploadMetadataMaxLength)
    .meta({
      description:
        "Pairs of a name and its value in base64, separated by commas. `label`, `notes`, `channel` and `autoActivate` mean the same as in the query of an upload in one piece; `filename` and `filetype` are ignored.",
      examples: ["label MS40LjI=,channel YmV0YQ=="],
    }),
  "Upload-Checksum": z
    .string()
    .max(128)
    .meta({
      description: "Digest of the chunk: `sha1` or `sha256`, and the digest in base64.",
      examples: ["sha1 2jmj7l5rSw0yVb/vlWAYkK/YBwk="],
    }),
  "X-Auth-Return-Redirect": z
    .string()
    .meta({ description: "With any value, the response is `{url}` instead of a redirect.", examples: ["1"] }),
  [playerHeader]: z.string().meta({
    description:
      "Id of the player that the request is for. The response is 401 if another player or nobody is signed in.",
    examples: ["cm3qk1x2v0001"],
  }),
  "Last-Event-ID": z
    .string()
    .meta({ description: "Id of the last event that the client received.", examples: ["12"] }),
} as const satisfies Record<string, z.ZodType>;

export type RequestHeaderName = keyof typeof requestHeaders;

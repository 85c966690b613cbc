import { z } from "zod";
import { playerHeader } from "#contracts/http/auth.ts";
import { limits } from "#contracts/limits.ts";

const seconds = z
  .string()
  .regex(/^[1-9]\d*$/)
  .meta({ examples: ["12"] });
const limitItems = (item: string): RegExp => new RegExp(`^"\\w+";${item}(?:, "\\w+";${item})*$`);

/**
 * Every header that a response's description can name; what Node and Koa set by themselves (Date,
 * Content-Length) is not listed.
 */
export const responseHeaders = {
  "API-Version": z.iso
    .date()
    .meta({ description: "Day of the interface's newest change.", examples: ["2026-11-21"] }),
  "X-Request-Id": z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{7,63}$/)
    .meta({
      description: "Names this request in our logs; the client's own when it sent one of this form.",
      examples: ["0123456789abcdefghjk"],
    }),
  "Cache-Control": z.string().meta({
    description:
      "Who may keep the response: nobody (`no-store`), the client alone and only to ask again (`private, no-cache`), or everybody for good (`public, max-age=31536000, immutable`).",
    examples: ["no-store"],
  }),
  "Retry-After": seconds.meta({ description: "Whole seconds after which it may be tried again." }),
  "RateLimit-Policy": z
    .string()
    .regex(limitItems("q=\\d+;w=\\d+"))
    .meta({
      description:
        "The limits that this request counts under: name, requests (`q`) and window in seconds (`w`).",
      examples: ['"partner";q=100;w=60'],
    }),
  RateLimit: z
    .string()
    .regex(limitItems("r=\\d+;t=\\d+"))
    .meta({
      description:
        "Where the caller stands in each of them: requests left (`r`) and seconds until the window ends (`t`).",
      examples: ['"partner";r=57;t=12'],
    }),
  ETag: z
    .string()
    .regex(/^W\/"[^"]+"$/)
    .meta({
      description: "Names this state of the content; send it back as `If-None-Match`.",
      examples: ['W/"VsZ2L6uHqYvrKkHk3WqkQg"'],
    }),
  Location: z
    .string()
    .min(1)
    .meta({ description: "An absolute address.", examples: ["https://joypod.example/"] }),
  Link: z
    .string()
    .regex(/^<turns?:[^>]+>; rel="ice-server"/)
    .meta({
      description: "The relays, as WHEP tells them: addresses with credentials.",
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
    .meta({ description: "The methods that the address takes.", examples: ["HEAD, GET, OPTIONS"] }),
  Accept: z
    .string()
    .min(1)
    .meta({ description: "The media types that the route takes.", examples: ["application/json"] }),
  "Accept-Encoding": z
    .string()
    .min(1)
    .meta({
      description: "When the body was encoded: `identity`, for no route takes an encoded one.",
      examples: ["identity"],
    }),
  "WWW-Authenticate": z
    .string()
    .regex(/^Bearer /)
    .meta({
      description: "The kind of credential that is wanted.",
      examples: ['Bearer realm="joypod partners"'],
    }),
  "Repr-Digest": z
    .string()
    .regex(/^sha-256=:[A-Za-z0-9+/]{43}=:$/)
    .meta({
      description: "SHA-256 of what was stored (RFC 9530).",
      examples: ["sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:"],
    }),
  "Content-Disposition": z
    .string()
    .regex(/^attachment; filename="[\w.-]+"$/)
    .meta({
      description: "The name of the file to store the body as.",
      examples: ['attachment; filename="moonlight-drift-slot1-20261121-180405.tar.gz"'],
    }),
  "Upload-Limit": z
    .string()
    .regex(/^max-size=\d+$/)
    .meta({ description: "Largest archive, in bytes.", examples: ["max-size=10737418240"] }),
  "Idempotency-Replayed": z.literal("true").meta({
    description: "This is the stored response of an earlier request with the same `Idempotency-Key`.",
    examples: ["true"],
  }),
} as const satisfies Record<string, z.ZodType>;

export type HeaderName = keyof typeof responseHeaders;

const { keyMaxLength } = limits.idempotency;

/**
 * Every request header that a route names beyond those of HTTP itself; all are optional. Players' routes take
 * `Joypod-Player` besides, unnamed.
 */
export const requestHeaders = {
  "If-None-Match": z.string().meta({
    description: "`ETag` of the response that the client has: 304 when it is still the same.",
    examples: ['W/"VsZ2L6uHqYvrKkHk3WqkQg"'],
  }),
  "If-Match": z.string().meta({
    description: "`ETag` of the state that the change was made for: 412 when it is another by now.",
    examples: ['W/"VsZ2L6uHqYvrKkHk3WqkQg"'],
  }),
  "Idempotency-Key": z
    .string()
    .min(1)
    .max(keyMaxLength + 2)
    .meta({
      description: `A random word of the client's: a repeated request with the same word is answered again and not done again, for 24 hours. At most ${keyMaxLength} characters, besides the quotes.`,
      examples: ['"8e03978e-40d5-43dd-bc93-6894a57f9324"'],
    }),
  "Content-Digest": z.string().meta({
    description:
      "Digest of the body as sent (RFC 9530, sha-256 or sha-512): checked before anything is stored.",
    examples: ["sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:"],
  }),
  "Repr-Digest": z.string().meta({
    description: "The same under its other name.",
    examples: ["sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:"],
  }),
  "X-Auth-Return-Redirect": z
    .string()
    .meta({ description: "Any value asks for `{url}` instead of a redirect.", examples: ["1"] }),
  [playerHeader]: z.string().meta({
    description:
      "Id of the player whom the request is for: 401 when another one, or nobody, is signed in by then.",
    examples: ["cm3qk1x2v0001"],
  }),
  "Last-Event-ID": z.string().meta({ description: "Id of the last event that was seen.", examples: ["12"] }),
} as const satisfies Record<string, z.ZodType>;

export type RequestHeaderName = keyof typeof requestHeaders;

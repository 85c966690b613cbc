import { z } from "zod";
import { playerHeader } from "#contracts/http/auth.ts";
import { limits } from "#contracts/limits.ts";

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

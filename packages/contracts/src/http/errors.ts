import { z } from "zod";

/** Every `error` code that a route can answer with, its HTTP status, and what it means to the client. */
export const errors = {
  invalid_request: {
    status: 400,
    meaning:
      "A field, a parameter or the body is missing or not as described; `message` says what, `details` where.",
  },
  common_password: {
    status: 400,
    meaning: "The new password is one of the most common ones, which are guessed first: choose another.",
  },
  checksum_mismatch: {
    status: 400,
    meaning: "What arrived is not what `Content-Digest` or `Repr-Digest` announced: send it again.",
  },
  invalid_offer: { status: 400, meaning: "The body is not an SDP offer that the stream can answer." },
  invalid_query: { status: 400, meaning: "A parameter of the stream is not as described." },
  unauthorized: { status: 401, meaning: "There is no valid credential of the kind that the route takes." },
  invalid_credentials: {
    status: 401,
    meaning: "The e-mail and the password do not belong together, or there is no such account.",
  },
  forbidden: {
    status: 403,
    meaning:
      "The credential is valid but may not do this: a write from another site's page, or a suspended partner.",
  },
  csrf: {
    status: 403,
    meaning: "The form's token is missing or old: get a new one and send the form again.",
  },
  reauthentication_required: {
    status: 403,
    meaning:
      "This changes how one signs in: send the account's password as `currentPassword`, or sign in anew; a sign-in younger than 5 minutes needs no password.",
  },
  not_found: {
    status: 404,
    meaning: "There is no such thing, or it is somebody else's; the two cannot be told apart.",
  },
  method_not_allowed: {
    status: 405,
    meaning: "The address exists but not with this method; `Allow` lists those there are.",
  },
  request_timeout: { status: 408, meaning: "The request did not arrive in time." },
  conflict: { status: 409, meaning: "The thing exists already, or is in a state that does not allow this." },
  session_active: { status: 409, meaning: "The player has an active session already; `sessionId` names it." },
  no_empty_slot: { status: 409, meaning: "All save slots of the game are in use: name one to continue." },
  slot_in_use: {
    status: 409,
    meaning:
      "A session plays the save slot, its last save is still on its way, or old saves of it are being removed: stop it, or wait.",
  },
  viewer_active: {
    status: 409,
    meaning: "Another page shows this session: ask with `takeover=true` to replace it.",
  },
  not_running: { status: 409, meaning: "The session is not running (yet, or any more)." },
  upload_in_progress: {
    status: 409,
    meaning:
      "Another upload of this game is under way, or many of the partner's other games: wait for the end of one.",
  },
  precondition_failed: {
    status: 412,
    meaning: "The thing changed since it was read: `If-Match` names an old version.",
  },
  payload_too_large: { status: 413, meaning: "The body is larger than the route takes." },
  offer_too_large: { status: 413, meaning: "The offer is larger than the stream takes." },
  unsupported_media_type: {
    status: 415,
    meaning: "The body is of another type than the route takes, or is encoded; `Accept` lists the types.",
  },
  idempotency_key_reused: {
    status: 422,
    meaning: "The `Idempotency-Key` was used for another request within the last day: take a new one.",
  },
  invalid_archive: {
    status: 422,
    meaning: "The archive breaks a packaging rule; `message` names the entry.",
  },
  invalid_picture: {
    status: 422,
    meaning:
      "The picture is damaged, of another type than announced, too small or too large; `message` says which.",
  },
  unreadable_save: {
    status: 422,
    meaning: "The save is missing or damaged; `versionId` names the newest one before it that can be read.",
  },
  locked: {
    status: 429,
    meaning: "Too many failed sign-ins for this e-mail: try again after `Retry-After`.",
  },
  rate_limited: { status: 429, meaning: "Too many requests: try again after `Retry-After`." },
  headers_too_large: { status: 431, meaning: "The request's headers are larger than the service reads." },
  internal_error: { status: 500, meaning: "A fault on our side: tell us the request's id." },
  not_implemented: { status: 501, meaning: "The method is not one that this service knows." },
  unavailable: {
    status: 503,
    meaning: "Something that the service needs is unavailable: try again after `Retry-After`.",
  },
  not_ready: { status: 503, meaning: "The stream does not show anything yet: try again in a moment." },
  maintenance: {
    status: 503,
    meaning:
      "An admin works on the service, and no game is launched; sessions that run go on. `message` is what the admin says of it; try again after `Retry-After`.",
  },
  no_servers: {
    status: 503,
    meaning: "No game server has room for the game just now: try again after `Retry-After`.",
  },
} as const satisfies Record<string, { status: number; meaning: string }>;

export const ErrorCode = z.enum(Object.keys(errors) as [keyof typeof errors]);
export type ErrorCode = z.infer<typeof ErrorCode>;

/** One thing wrong with a request: `path` is the field, such as `tags.0`. */
export const ErrorDetail = z
  .object({
    path: z
      .string()
      .meta({ description: "The field, such as `tags.0`; empty for the whole body.", examples: ["title"] }),
    message: z.string().meta({ examples: ["must not be empty"] }),
  })
  .meta({ id: "ErrorDetail", description: "One thing that is wrong with a request." });
export type ErrorDetail = z.infer<typeof ErrorDetail>;

/** What a game may take that no game server has left: shares of a GPU, memory or processors. */
export const ServerLack = z.enum(["gpu", "memory", "processors"]);
export type ServerLack = z.infer<typeof ServerLack>;

/**
 * Body of every error response; those of partner routes always have `message`. The route table says which
 * fields a route's can have.
 */
export const ErrorBody = z.object({
  error: ErrorCode,
  message: z.string().optional(),
  requestId: z.string().optional(),
  details: z.array(ErrorDetail).optional(),
  /** With `session_active`: the player's active session. */
  sessionId: z.string().optional(),
  /** With `unreadable_save`: the newest version before it that can be read, if there is one. */
  versionId: z.string().optional(),
  /** With `no_servers`: what no game server has left; absent where all are taken, or none can be reached. */
  lack: ServerLack.optional(),
  /** On sign-in routes: where the browser would have been sent. */
  url: z.string().optional(),
});
export type ErrorBody = z.infer<typeof ErrorBody>;

import { z } from "zod";

/** Every `error` code of the HTTP interface, with its HTTP status and its meaning for clients. */
export const errors = {
  invalid_request: {
    status: 400,
    meaning: "A field, a parameter or the body is missing or invalid. `message` says what, `details` where.",
  },
  common_password: {
    status: 400,
    meaning: "The new password is too common. Choose another one.",
  },
  checksum_mismatch: {
    status: 400,
    meaning: "The received data does not match `Content-Digest` or `Repr-Digest`. Send it again.",
  },
  chunk_mismatch: {
    status: 460,
    meaning: "The chunk does not match `Upload-Checksum` and was discarded. Send it again.",
  },
  invalid_offer: { status: 400, meaning: "The body is not an SDP offer that the stream supports." },
  invalid_query: { status: 400, meaning: "A parameter of the stream is invalid." },
  unauthorized: { status: 401, meaning: "The credential that the route requires is missing or invalid." },
  invalid_credentials: {
    status: 401,
    meaning: "The e-mail or the password is wrong.",
  },
  account_disabled: {
    status: 401,
    meaning: "The password is right, but an admin has disabled the account.",
  },
  unconfirmed: {
    status: 403,
    meaning:
      "The password is right, but the account's e-mail address is not confirmed yet. Open the link in the confirmation mail.",
  },
  sign_up_closed: {
    status: 403,
    meaning: "Players cannot open accounts on this site, or only with an invitation. `message` says which.",
  },
  no_mail: {
    status: 409,
    meaning: "This site sends no mail. Ask the person who runs it for a link.",
  },
  forbidden: {
    status: 403,
    meaning:
      "The credential is valid but does not permit this: a write from another site's page, or a suspended partner.",
  },
  csrf: {
    status: 403,
    meaning: "The form's token is missing or outdated. Get a new one and send the form again.",
  },
  reauthentication_required: {
    status: 403,
    meaning:
      "Changing sign-in settings needs the account's password as `currentPassword`, or a sign-in that is less than 5 minutes old.",
  },
  not_found: {
    status: 404,
    meaning: "The object does not exist or belongs to someone else. The two cases are not distinguished.",
  },
  invalid_link: {
    status: 404,
    meaning: "The one-time link is unknown, used or expired. Request a new one.",
  },
  method_not_allowed: {
    status: 405,
    meaning: "The address does not support this method. `Allow` lists the supported ones.",
  },
  request_timeout: { status: 408, meaning: "The request did not arrive in time." },
  conflict: { status: 409, meaning: "The object already exists, or its state does not permit this." },
  session_active: { status: 409, meaning: "The player already has an active session, `sessionId`." },
  no_empty_slot: { status: 409, meaning: "All save slots of the game are in use. Choose one to continue." },
  newer_save: {
    status: 409,
    meaning:
      "A newer version of the game wrote the save, and the older one may not read it. Ask the player, then repeat the launch with `acceptsOlderVersion`.",
  },
  slot_in_use: {
    status: 409,
    meaning:
      "The save slot is being played, its last save is still being stored, or old saves are being removed. Stop the session, or wait.",
  },
  viewer_active: {
    status: 409,
    meaning: "Another page shows this session. Use `takeover=true` to replace it.",
  },
  not_running: { status: 409, meaning: "The session is not running." },
  upload_in_progress: {
    status: 409,
    meaning:
      "Another upload of this game is in progress, or the partner has too many uploads in progress. Wait until one ends.",
  },
  precondition_failed: {
    status: 412,
    meaning: "The object has changed since it was read: `If-Match` names an old version.",
  },
  payload_too_large: { status: 413, meaning: "The body is too large for the route." },
  offer_too_large: { status: 413, meaning: "The offer is too large." },
  unsupported_media_type: {
    status: 415,
    meaning: "The body has an unsupported type or encoding. `Accept` lists the supported types.",
  },
  idempotency_key_reused: {
    status: 422,
    meaning: "The `Idempotency-Key` was used for a different request within the last day. Use a new one.",
  },
  invalid_archive: {
    status: 422,
    meaning: "The archive violates a packaging rule. `message` names the entry.",
  },
  invalid_picture: {
    status: 422,
    meaning:
      "The picture is damaged, of another type than declared, too small or too large. `message` says which.",
  },
  unreadable_save: {
    status: 422,
    meaning: "The save is missing or damaged. `versionId` is the newest readable version before it.",
  },
  locked: {
    status: 429,
    meaning: "Too many failed sign-ins for this e-mail. Try again after `Retry-After`.",
  },
  play_limit_reached: {
    status: 429,
    meaning: "The player's play time for the day or the month is used up. Launch again after `Retry-After`.",
  },
  rate_limited: { status: 429, meaning: "Too many requests. Try again after `Retry-After`." },
  headers_too_large: { status: 431, meaning: "The request's headers are too large." },
  internal_error: { status: 500, meaning: "An internal error. Report it with the request id." },
  not_implemented: { status: 501, meaning: "The service does not support the method." },
  unavailable: {
    status: 503,
    meaning: "A dependency of the service is unavailable. Try again after `Retry-After`.",
  },
  not_ready: { status: 503, meaning: "The stream is not ready yet. Try again in a moment." },
  maintenance: {
    status: 503,
    meaning:
      "The service is in maintenance: no game can be launched, but running sessions continue. `message` is the admin's message. Try again after `Retry-After`.",
  },
  no_servers: {
    status: 503,
    meaning: "No game server has room for the game. Try again after `Retry-After`.",
  },
} as const satisfies Record<string, { status: number; meaning: string }>;

export const ErrorCode = z.enum(Object.keys(errors) as [keyof typeof errors]);
export type ErrorCode = z.infer<typeof ErrorCode>;

/** One problem in a request. `path` is the field, such as `tags.0`. */
export const ErrorDetail = z
  .object({
    path: z
      .string()
      .meta({ description: "The field, such as `tags.0`; empty for the whole body.", examples: ["title"] }),
    message: z.string().meta({ examples: ["must not be empty"] }),
  })
  .meta({ id: "ErrorDetail", description: "One thing that is wrong with a request." });
export type ErrorDetail = z.infer<typeof ErrorDetail>;

/** Resources that no game server may have enough of: shares of a GPU, memory or processors. */
export const ServerLack = z.enum(["gpu", "memory", "processors"]);
export type ServerLack = z.infer<typeof ServerLack>;

/**
 * Body of every error response. Partner routes always set `message`. The route table lists the fields of each
 * route.
 */
export const ErrorBody = z.object({
  error: ErrorCode,
  message: z.string().optional(),
  requestId: z.string().optional(),
  details: z.array(ErrorDetail).optional(),
  /** With `session_active`: the player's active session. */
  sessionId: z.string().optional(),
  /** With `unreadable_save`: the newest readable version before it, if any. */
  versionId: z.string().optional(),
  /**
   * With `no_servers`: the resource that every game server lacks. Absent if all servers are in use or
   * unreachable.
   */
  lack: ServerLack.optional(),
  /** On sign-in routes: the address that the browser would have been redirected to. */
  url: z.string().optional(),
});
export type ErrorBody = z.infer<typeof ErrorBody>;

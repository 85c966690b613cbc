import { z } from "zod";

/** Every `error` word that a route can answer, with its HTTP status. */
export const errorStatuses = {
  invalid_request: 400,
  checksum_mismatch: 400,
  unauthorized: 401,
  invalid_credentials: 401,
  forbidden: 403,
  csrf: 403,
  not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  conflict: 409,
  session_active: 409,
  no_empty_slot: 409,
  viewer_active: 409,
  not_running: 409,
  upload_in_progress: 409,
  precondition_failed: 412,
  payload_too_large: 413,
  unsupported_media_type: 415,
  invalid_archive: 422,
  locked: 429,
  rate_limited: 429,
  internal_error: 500,
  not_implemented: 501,
  unavailable: 503,
  no_servers: 503,
} as const;

export const ErrorCode = z.enum(Object.keys(errorStatuses) as [keyof typeof errorStatuses]);
export type ErrorCode = z.infer<typeof ErrorCode>;

/** One thing wrong with a request: `path` is the field, such as `tags.0`. */
export const ErrorDetail = z.object({ path: z.string(), message: z.string() });
export type ErrorDetail = z.infer<typeof ErrorDetail>;

/** Body of every refused request; partner routes always carry `message`. */
export const ErrorBody = z.object({
  error: ErrorCode,
  message: z.string().optional(),
  requestId: z.string().optional(),
  details: z.array(ErrorDetail).optional(),
  /** With `session_active`: the session that is in the way. */
  sessionId: z.string().optional(),
  /** On sign-in routes: where the browser would have been sent. */
  url: z.string().optional(),
});
export type ErrorBody = z.infer<typeof ErrorBody>;

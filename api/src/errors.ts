import { errors, type ErrorBody, type ErrorCode, type ErrorDetail } from "#contracts/http/errors.ts";

export interface HttpErrorOptions {
  /** For the reader: what is wrong and what can be done. Never a secret, never an inner message. */
  message?: string;
  details?: ErrorDetail[];
  /** Seconds; becomes Retry-After. */
  retryAfterSeconds?: number;
  headers?: Record<string, string>;
  /** More fields of the body, such as the session that is in the way. */
  extra?: Pick<ErrorBody, "sessionId" | "url">;
  cause?: unknown;
}

/** A refusal with its meaning; the error middleware is the one place that turns it into an answer. */
export class HttpError extends Error {
  override readonly name = "HttpError";
  readonly code: ErrorCode;
  readonly status: number;
  /** False when the message only repeats the code. */
  readonly hasMessage: boolean;
  readonly details: ErrorDetail[] | undefined;
  readonly headers: Record<string, string>;
  readonly extra: Pick<ErrorBody, "sessionId" | "url">;

  constructor(code: ErrorCode, { message, details, retryAfterSeconds, headers = {}, extra = {}, cause }: HttpErrorOptions = {}) {
    super(message ?? code, { cause });
    this.code = code;
    this.status = errors[code].status;
    this.hasMessage = message !== undefined;
    this.details = details;
    this.headers = retryAfterSeconds === undefined ? headers : { ...headers, "Retry-After": wholeSeconds(retryAfterSeconds) };
    this.extra = extra;
  }

  /** The same refusal, with more fields of the body. */
  with(extra: NonNullable<HttpErrorOptions["extra"]>): HttpError {
    const { code, message, hasMessage, details, headers } = this;
    return new HttpError(code, { ...(hasMessage && { message }), ...(details && { details }), headers, extra: { ...this.extra, ...extra }, cause: this });
  }
}

/** 400: the request itself is wrong; `details` say where. */
export function invalidRequest(message: string, details?: ErrorDetail[]): HttpError {
  return new HttpError("invalid_request", details === undefined ? { message } : { message, details });
}

/** 401: no valid credential of the kind that the route takes. */
export function unauthorized(options: HttpErrorOptions = {}): HttpError {
  return new HttpError("unauthorized", options);
}

/** 403. */
export function forbidden(message: string): HttpError {
  return new HttpError("forbidden", { message });
}

/** 404: unknown, or not the caller's to see; the two must not be told apart. */
export function notFound(message: string): HttpError {
  return new HttpError("not_found", { message });
}

/** 429: `retryAfterSeconds` from now it may be tried again. */
export function rateLimited(retryAfterSeconds: number, headers: Record<string, string> = {}): HttpError {
  return new HttpError("rate_limited", { message: `Too many requests: try again in ${wholeSeconds(retryAfterSeconds)} s.`, retryAfterSeconds, headers });
}

/** 503: something that we need is away; the same request may succeed soon. */
export function unavailable(message: string, cause?: unknown, retryAfterSeconds = 5): HttpError {
  return new HttpError("unavailable", { message, retryAfterSeconds, cause });
}

/** 413: more than `maxBytes`; the connection is closed, for the rest of the body is unread. */
export function payloadTooLarge(maxBytes: number): HttpError {
  return new HttpError("payload_too_large", { message: `The body may have at most ${maxBytes} bytes.`, headers: { Connection: "close" } });
}

/** 415. */
export function unsupportedMediaType(accepted: readonly string[]): HttpError {
  return new HttpError("unsupported_media_type", { message: `The body must be ${accepted.join(" or ")}.`, headers: { Accept: accepted.join(", ") } });
}

/** Retry-After is whole, at least 1, and never earlier than asked. */
function wholeSeconds(seconds: number): string {
  return String(Math.max(1, Math.ceil(seconds)));
}

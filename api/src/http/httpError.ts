import { errors, type ErrorCode, type ErrorBody } from "#contracts/http/errors.ts";
import { DomainError, wholeSeconds, type DomainErrorOptions } from "../errors.ts";
import { isDatabaseUnavailable, isTransactionConflict } from "../stores/databaseFailure.ts";

/** Options of an error response beyond those of a DomainError. */
export interface HttpErrorOptions extends DomainErrorOptions {
  headers?: Readonly<Record<string, string>>;
}

/** Codes that leave the rest of the request's body unread, so the connection cannot be reused. */
const closingCodes: ReadonlySet<ErrorCode> = new Set(["payload_too_large", "request_timeout"]);

/**
 * An error with HTTP status and headers. Code that reads and writes HTTP throws it; commands throw
 * DomainError.
 */
export class HttpError extends DomainError {
  override readonly name: string = "HttpError";
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: ErrorCode, options: HttpErrorOptions = {}) {
    super(code, options);
    const { headers = {}, retryAfterSeconds } = options;
    this.status = errors[code].status;
    this.headers = {
      ...(closingCodes.has(code) && { Connection: "close" }),
      ...headers,
      ...(retryAfterSeconds !== undefined && { "Retry-After": wholeSeconds(retryAfterSeconds) }),
    };
  }

  /** Returns the same error with additional fields in the body. */
  with(extra: Readonly<Record<string, string>>): HttpError {
    const { code, headers } = this;
    return new HttpError(code, {
      ...copyOptions(this),
      headers,
      extra: { ...this.extra, ...extra },
      cause: this,
    });
  }
}

/** Translates any error to an HttpError; unexpected ones become internal_error. */
export function toHttpError(error: unknown): HttpError {
  if (error instanceof HttpError) return error;
  if (error instanceof DomainError) return new HttpError(error.code, { ...copyOptions(error), cause: error });
  if (isDatabaseUnavailable(error)) {
    return new HttpError("unavailable", {
      message: "The service is unavailable right now. Try again in a moment.",
      retryAfterSeconds: 5,
      cause: error,
    });
  }
  if (isTransactionConflict(error)) {
    return new HttpError("unavailable", {
      message: "The request conflicted with another one. Try again in a moment.",
      retryAfterSeconds: 1,
      cause: error,
    });
  }
  return new HttpError(codeOfStatus(error) ?? "internal_error", { cause: error });
}

/** Returns the error for a body larger than `maxBytes`. */
export function payloadTooLarge(maxBytes: number): HttpError {
  return new HttpError("payload_too_large", { message: `The body may have at most ${maxBytes} bytes.` });
}

/** Returns the error for a body of an unaccepted type. */
export function unsupportedMediaType(accepted: readonly string[]): HttpError {
  return new HttpError("unsupported_media_type", {
    message: `The body must be ${accepted.join(" or ")}.`,
    headers: { Accept: accepted.join(", ") },
  });
}

/** Returns the error for an encoded body, which no route accepts, with the header of RFC 9110 (15.5.16). */
export function unsupportedEncoding(accepted: readonly string[]): HttpError {
  return new HttpError("unsupported_media_type", {
    message: `The body must be ${accepted.join(" or ")} without Content-Encoding.`,
    headers: { Accept: accepted.join(", "), "Accept-Encoding": "identity" },
  });
}

/** Returns the options that copy an error. */
function copyOptions({
  message,
  hasMessage,
  details,
  retryAfterSeconds,
  extra,
}: DomainError): DomainErrorOptions {
  return {
    extra,
    ...(hasMessage && { message }),
    ...(details !== undefined && { details }),
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
  };
}

/** Errors of Koa and its packages, such as an address that is not valid UTF-8, carry a status. */
function codeOfStatus(error: unknown): ErrorCode | undefined {
  const status = error instanceof Error && "status" in error ? error.status : undefined;
  if (typeof status !== "number" || status >= 500) return undefined;
  if (status === 400) return "invalid_request";
  return (
    (Object.keys(errors) as ErrorCode[]).find((code) => errors[code].status === status) ?? "invalid_request"
  );
}

/** The request of an error response. */
interface RefusedRequest {
  /** Undefined if it could not be read. */
  path: string | undefined;
  requestId: string;
}

/** Returns the body of an error response. On partner routes it always has a message. */
export function errorBodyOf(
  { path, requestId }: RefusedRequest,
  {
    code,
    message,
    hasMessage,
    details,
    extra,
  }: Pick<DomainError, "code" | "message" | "hasMessage" | "details" | "extra">,
): ErrorBody {
  const isPartner = path?.startsWith("/api/partners") === true;
  // The specification defines the whole body; forms add the address of the redirect.
  if (code === "unauthorized" && !isPartner) return { error: code, ...extra };
  const needsMessage = hasMessage || isPartner || code === "internal_error";
  // Partners' error responses have the format of the specification, with the id in a header. An internal
  // error names it in the body so that it can be reported.
  const needsRequestId = !isPartner || code === "internal_error";
  return {
    error: code,
    ...(needsMessage && { message: hasMessage ? message : (sentences[code] ?? "The request was refused.") }),
    ...(needsRequestId && { requestId }),
    ...(details !== undefined && { details }),
    ...extra,
  };
}

const sentences: Partial<Record<ErrorCode, string>> = {
  internal_error: "Something went wrong. Report it with the requestId.",
  unauthorized: "A valid credential is required.",
  invalid_request: "This is not a valid HTTP request. Send a Host header and a valid address.",
  headers_too_large: errors.headers_too_large.meaning,
};

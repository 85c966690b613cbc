import type { ErrorCode, ErrorDetail } from "#contracts/http/errors.ts";

/** Options of a DomainError. */
export interface DomainErrorOptions {
  /** What happened and what to do, for the client. Never contains secrets or internal messages. */
  message?: string;
  details?: ErrorDetail[];
  /** Seconds after which a retry may succeed. */
  retryAfterSeconds?: number;
  /** Machine-readable fields of the response, such as `sessionId` for the session that conflicts. */
  extra?: Readonly<Record<string, string>>;
  cause?: unknown;
}

/**
 * An error with a code of the contract's catalogue. Commands throw it; http/httpError.ts translates it for
 * HTTP, and cli/cliError.ts for the command line.
 */
export class DomainError extends Error {
  override readonly name: string = "DomainError";
  readonly code: ErrorCode;
  /** False if the message only repeats the code. */
  readonly hasMessage: boolean;
  readonly details: ErrorDetail[] | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly extra: Readonly<Record<string, string>>;

  constructor(
    code: ErrorCode,
    { message, details, retryAfterSeconds, extra = {}, cause }: DomainErrorOptions = {},
  ) {
    super(message ?? code, { cause });
    this.code = code;
    this.hasMessage = message !== undefined;
    this.details = details;
    this.retryAfterSeconds = retryAfterSeconds;
    this.extra = extra;
  }
}

/** Returns the error for invalid input; `details` name the fields. */
export function invalidRequest(message: string, details?: ErrorDetail[]): DomainError {
  return new DomainError("invalid_request", details === undefined ? { message } : { message, details });
}

/** Returns the error for a missing or invalid credential. */
export function unauthorized(options: DomainErrorOptions = {}): DomainError {
  return new DomainError("unauthorized", options);
}

/** Returns the error for a valid credential without permission. */
export function forbidden(message: string): DomainError {
  return new DomainError("forbidden", { message });
}

/**
 * Returns the error for a resource that does not exist or belongs to someone else, which must be
 * indistinguishable.
 */
export function notFound(message: string): DomainError {
  return new DomainError("not_found", { message });
}

/** Returns the error for an exhausted rate limit. */
export function rateLimited(retryAfterSeconds: number): DomainError {
  return new DomainError("rate_limited", {
    message: `Too many requests. Try again in ${wholeSeconds(retryAfterSeconds)} s.`,
    retryAfterSeconds,
  });
}

/** Returns the error for an unavailable dependency, after which a retry may succeed soon. */
export function unavailable(message: string, cause?: unknown, retryAfterSeconds = 5): DomainError {
  return new DomainError("unavailable", { message, retryAfterSeconds, cause });
}

/** Formats a wait in whole seconds: rounded up, at least 1. */
export function wholeSeconds(seconds: number): string {
  return String(Math.max(1, Math.ceil(seconds)));
}

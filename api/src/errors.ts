import type { ErrorCode, ErrorDetail } from "#contracts/http/errors.ts";

/** What an error says beyond its code. */
export interface DomainErrorOptions {
  /**
   * What is wrong and what can be done, for the reader of the response. It never holds a secret or an inner
   * message.
   */
  message?: string;
  details?: ErrorDetail[];
  /** Seconds from now after which the same may succeed. */
  retryAfterSeconds?: number;
  /**
   * What programs need to go on, by the names that they read, such as `sessionId` for the session that is in
   * the way.
   */
  extra?: Readonly<Record<string, string>>;
  cause?: unknown;
}

/**
 * An error with its meaning, by a code of the contract's catalogue. Commands throw it; http/httpError.ts
 * translates it for HTTP, and cli/cliError.ts for the command line.
 */
export class DomainError extends Error {
  override readonly name: string = "DomainError";
  readonly code: ErrorCode;
  /** False when the message only repeats the code. */
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

/** The input itself is wrong; `details` say where. */
export function invalidRequest(message: string, details?: ErrorDetail[]): DomainError {
  return new DomainError("invalid_request", details === undefined ? { message } : { message, details });
}

/** There is no valid credential. */
export function unauthorized(options: DomainErrorOptions = {}): DomainError {
  return new DomainError("unauthorized", options);
}

/** The credential is valid, but does not allow this. */
export function forbidden(message: string): DomainError {
  return new DomainError("forbidden", { message });
}

/** The thing is unknown, or not the caller's to see; the two must not be told apart. */
export function notFound(message: string): DomainError {
  return new DomainError("not_found", { message });
}

/** A limit is used up: `retryAfterSeconds` from now it may be tried again. */
export function rateLimited(retryAfterSeconds: number): DomainError {
  return new DomainError("rate_limited", {
    message: `Too many requests. Try again in ${wholeSeconds(retryAfterSeconds)} s.`,
    retryAfterSeconds,
  });
}

/** Something that we need is unavailable; the same request may succeed soon. */
export function unavailable(message: string, cause?: unknown, retryAfterSeconds = 5): DomainError {
  return new DomainError("unavailable", { message, retryAfterSeconds, cause });
}

/** A wait as it is told: whole seconds, at least 1, and never less than asked. */
export function wholeSeconds(seconds: number): string {
  return String(Math.max(1, Math.ceil(seconds)));
}

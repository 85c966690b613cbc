/** Cause of a failed request: the API server's error response, or the reason for a missing response. */
export interface KubeErrorDetails {
  /** HTTP status, undefined without a response. */
  status?: number | undefined;
  /**
   * The server's machine-readable reason ("AlreadyExists"), or "Timeout", "Unreachable" or
   * "MalformedResponse" when no response has one.
   */
  reason: string;
  message: string;
  retryAfterSeconds?: number | undefined;
  cause?: unknown;
}

/** A failed request to the API server. */
export class KubeError extends Error {
  readonly status: number | undefined;
  readonly reason: string;
  readonly retryAfterSeconds: number | undefined;

  constructor({ status, reason, message, retryAfterSeconds, cause }: KubeErrorDetails) {
    super(message, cause === undefined ? {} : { cause });
    this.name = "KubeError";
    this.status = status;
    this.reason = reason;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** Returns whether an error is a failed request to the API server. */
export function isKubeError(error: unknown): error is KubeError {
  return error instanceof KubeError;
}

/** Returns whether the object (or the kind) does not exist. */
export function isNotFound(error: unknown): error is KubeError {
  return hasStatus(error, 404);
}

/** Returns whether an object of the same name already exists. */
export function isAlreadyExists(error: unknown): error is KubeError {
  return hasStatus(error, 409) && error.reason === "AlreadyExists";
}

/** Returns whether a write conflicted with a newer version, a precondition or another field manager. */
export function isConflict(error: unknown): error is KubeError {
  return hasStatus(error, 409) && error.reason !== "AlreadyExists";
}

/**
 * Ignores the errors of a deletion by uid if the object is gone or its name belongs to another object; throws
 * all others.
 */
export function ignoreDeleted(error: unknown): void {
  if (!isNotFound(error) && !isConflict(error)) throw error;
}

/** Returns whether the resourceVersion or continue token is too old, so that the caller must list again. */
export function isGone(error: unknown): error is KubeError {
  return (
    hasStatus(error, 410) ||
    (error instanceof KubeError && (error.reason === "Expired" || error.reason === "Gone"))
  );
}

/**
 * Returns whether the server has not reached that resourceVersion: it lags, or its storage was restored from
 * a backup.
 */
export function isVersionTooLarge(error: unknown): error is KubeError {
  return hasStatus(error, 504) && /too large resource version/i.test(error.message);
}

/** Returns whether the object violates its schema or a validation rule. */
export function isInvalid(error: unknown): error is KubeError {
  return hasStatus(error, 422);
}

/** Returns whether RBAC or an admission policy refuses the request. */
export function isForbidden(error: unknown): error is KubeError {
  return hasStatus(error, 403);
}

/**
 * Returns whether the server rejects the object because of a rule, a quota, a policy or a webhook. Webhook
 * rejections have status 400 unless the webhook sets another one.
 */
export function isRefused(error: unknown): error is KubeError {
  return isForbidden(error) || isInvalid(error) || hasStatus(error, 400);
}

/** Returns whether the credentials were rejected. */
export function isUnauthorized(error: unknown): error is KubeError {
  return hasStatus(error, 401);
}

/**
 * Returns whether no response arrived: the connection was refused or interrupted, or the deadline passed. The
 * request may have been processed.
 */
export function isUnreachable(error: unknown): error is KubeError {
  return error instanceof KubeError && error.status === undefined && !isMalformedResponse(error);
}

/** Returns whether a response or event of the server could not be decoded. */
export function isMalformedResponse(error: unknown): error is KubeError {
  return error instanceof KubeError && error.status === undefined && error.reason === "MalformedResponse";
}

/** Returns whether an unchanged retry may succeed. */
export function isTransient(error: unknown): error is KubeError {
  if (!(error instanceof KubeError)) return false;
  return error.status === undefined || error.status === 429 || error.status >= 500;
}

function hasStatus(error: unknown, status: number): error is KubeError {
  return error instanceof KubeError && error.status === status;
}

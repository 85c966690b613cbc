/** Why a request failed: the API server's error response, or the reason why there was no response. */
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

/** A request to the API server that failed. */
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

/** Returns whether a request to the API server failed, for any reason. */
export function isKubeError(error: unknown): error is KubeError {
  return error instanceof KubeError;
}

/** Returns whether the object (or the kind) does not exist. */
export function isNotFound(error: unknown): error is KubeError {
  return hasStatus(error, 404);
}

/** Returns whether a create lost against an object of the same name. */
export function isAlreadyExists(error: unknown): error is KubeError {
  return hasStatus(error, 409) && error.reason === "AlreadyExists";
}

/**
 * Returns whether a write lost against a newer version, a precondition failed, or another field manager owns
 * a field.
 */
export function isConflict(error: unknown): error is KubeError {
  return hasStatus(error, 409) && error.reason !== "AlreadyExists";
}

/**
 * Ignores that an object is gone, or that another one has its name, where its deletion by uid fails; throws
 * any other error.
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

/** Returns whether the object breaks its schema or a validation rule. */
export function isInvalid(error: unknown): error is KubeError {
  return hasStatus(error, 422);
}

/** Returns whether RBAC or an admission policy refuses the request. */
export function isForbidden(error: unknown): error is KubeError {
  return hasStatus(error, 403);
}

/**
 * Returns whether the server refuses the object as it is: by a rule, a quota or a policy, or by a webhook,
 * whose word it passes on as 400 unless that says otherwise.
 */
export function isRefused(error: unknown): error is KubeError {
  return isForbidden(error) || isInvalid(error) || hasStatus(error, 400);
}

/** Returns whether the server does not know the caller. */
export function isUnauthorized(error: unknown): error is KubeError {
  return hasStatus(error, 401);
}

/**
 * Returns whether no response arrived: connection refused, cut, or past the deadline. The request may have
 * been carried out.
 */
export function isUnreachable(error: unknown): error is KubeError {
  return error instanceof KubeError && error.status === undefined && !isMalformedResponse(error);
}

/** Returns whether the server's response or event is not understood. */
export function isMalformedResponse(error: unknown): error is KubeError {
  return error instanceof KubeError && error.status === undefined && error.reason === "MalformedResponse";
}

/** Returns whether the request may succeed when it is tried again unchanged. */
export function isTransient(error: unknown): error is KubeError {
  if (!(error instanceof KubeError)) return false;
  return error.status === undefined || error.status === 429 || error.status >= 500;
}

function hasStatus(error: unknown, status: number): error is KubeError {
  return error instanceof KubeError && error.status === status;
}

/** Why the object store did not do what was asked. */
export type ObjectStoreFailure = "Unreachable" | "NotFound" | "Changed" | "Refused";

/**
 * The object store's response as an error, or the lack of a response. Only `Unreachable` gets better by
 * waiting: a bucket that is not there counts as that. `NotFound` is said of the object alone.
 */
export class ObjectStoreError extends Error {
  readonly failure: ObjectStoreFailure;

  constructor(failure: ObjectStoreFailure, message: string, cause?: unknown) {
    super(message, { cause });
    this.name = "ObjectStoreError";
    this.failure = failure;
  }
}

/**
 * Returns whether the error means that the object store could not be reached, is not healthy, or has no such
 * bucket.
 */
export function isObjectStoreUnreachable(error: unknown): boolean {
  return error instanceof ObjectStoreError && error.failure === "Unreachable";
}

/** What was read is not what its digest says. */
export class ChecksumMismatch extends Error {
  constructor(expected: string, actual: string, cause?: unknown) {
    super(`The bytes read have SHA-256 ${actual}, not ${expected}.`, { cause });
    this.name = "ChecksumMismatch";
  }
}

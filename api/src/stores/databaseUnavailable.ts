import { connectionFailureOf } from "#runtime/network/connectionFailure.ts";

/**
 * Whether the error means that the database is unavailable or refuses work for now, so that the same request
 * may succeed soon, or once it is mended.
 */
export function isDatabaseUnavailable(error: unknown): boolean {
  for (const { code, message } of databaseCausesOf(error)) {
    if (unavailableCodes.test(code) || unavailableMessages.test(message)) return true;
  }
  return connectionFailureOf(error) !== undefined;
}

/**
 * Returns whether the database took a transaction back for the sake of another one, as it ends a deadlock:
 * nothing is wrong with it, and the same request may succeed at once.
 */
export function isTransactionSacrificed(error: unknown): boolean {
  for (const { code } of databaseCausesOf(error)) {
    if (sacrificeCodes.test(code)) return true;
  }
  return false;
}

/** Returns whether a statement that does not wait for locks found that another transaction has one. */
export function isLockedByAnother(error: unknown): boolean {
  for (const { code } of databaseCausesOf(error)) {
    if (code === "55P03") return true;
  }
  return false;
}

/**
 * Returns whether the database did not respond to a statement in time: its connection will not respond to the
 * next statement either.
 */
export function isUnanswered(error: unknown): boolean {
  for (const { message } of databaseCausesOf(error)) {
    if (message === "Query read timeout") return true;
  }
  return false;
}

/** Yields codes and messages of an error and of what it was caused by. */
export function* databaseCausesOf(error: unknown): Generator<{ code: string; message: string }> {
  for (
    let cause = error, depth = 0;
    typeof cause === "object" && cause !== null && depth < 5;
    cause = causeOf(cause), depth += 1
  ) {
    const message =
      cause instanceof Error
        ? cause.message
        : "originalMessage" in cause
          ? String(cause.originalMessage)
          : "";
    if ("code" in cause) yield { code: String(cause.code), message };
    if ("originalCode" in cause) yield { code: String(cause.originalCode), message };
    if (!("code" in cause || "originalCode" in cause)) yield { code: "", message };
  }
}

/**
 * Prisma keeps what the driver said beside its own error, and what the server said in an object that is none.
 */
function causeOf(error: object): unknown {
  if (
    "meta" in error &&
    typeof error.meta === "object" &&
    error.meta !== null &&
    "driverAdapterError" in error.meta
  )
    return error.meta.driverAdapterError;
  return "cause" in error ? error.cause : undefined;
}

/**
 * Connection class, refused credentials and a missing database, operator intervention, read-only during a
 * failover, too many connections, and sockets' and Prisma's words for the same, also of a transaction that
 * could not begin in time.
 */
const unavailableCodes =
  /^(?:08...|28000|28P01|3D000|57P0[1-4]|57014|25006|53300|ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|EAI_AGAIN|ENOTFOUND|P1000|P1001|P1002|P1003|P1008|P1010|P1011|P1017|P2024|P2028)$/;
const unavailableMessages =
  /^(?:timeout exceeded when trying to connect|Connection terminated|Query read timeout|Client has encountered a connection error)/;
/** A deadlock, a serialization failure, and Prisma's word for both. */
const sacrificeCodes = /^(?:40P01|40001|P2034)$/;

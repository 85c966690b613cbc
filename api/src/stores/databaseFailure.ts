import {
  connectionFailureOf,
  connectionSentence,
  type ServerWords,
} from "#runtime/network/connectionFailure.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";
import { DeadlineExceeded, withTimeout } from "#runtime/scheduling/deadline.ts";
import type { Logger } from "#runtime/logger.ts";
import { unavailable, type DomainError } from "../errors.ts";

const words: ServerWords = {
  server: "The database",
  address: "DATABASE_URL",
  authority: "DATABASE_CA_FILE (the chart's postgres.caSecret)",
};

/**
 * Returns a sentence, without secrets, that describes a configuration problem of the database connection and
 * its fix; undefined for transient errors.
 */
export function databaseSentence(error: unknown): string | undefined {
  for (const { code, message } of databaseCausesOf(error)) {
    const sentence = sentences[code];
    if (sentence !== undefined) return typeof sentence === "string" ? sentence : sentence(message);
  }
  const failure = connectionFailureOf(error);
  return failure === undefined ? undefined : connectionSentence(failure, words);
}

/**
 * Returns whether a retry is pointless until the connection is fixed. An unknown host name may still become
 * known.
 */
export function isDatabaseOutOfReach(error: unknown): boolean {
  return databaseSentence(error) !== undefined && connectionFailureOf(error) !== "unknownHost";
}

/** Sentences by the server's error codes. */
const sentences: Readonly<Record<string, string | ((message: string) => string)>> = {
  "28P01": "The database refuses the user or the password in DATABASE_URL: correct them.",
  "28000": (message) =>
    message.includes("no encryption")
      ? "The database requires TLS: add sslmode=verify-full to DATABASE_URL and set DATABASE_CA_FILE to the certificate of its authority (the chart's postgres.caSecret)."
      : "The database rejects the user in DATABASE_URL from this host: check its pg_hba.conf.",
  "3D000":
    "The database that DATABASE_URL names does not exist on its server: create it, or correct the name.",
};

/**
 * Returns whether the error means that the database is unavailable or rejects work, so the same request may
 * succeed later.
 */
export function isDatabaseUnavailable(error: unknown): boolean {
  for (const { code, message } of databaseCausesOf(error)) {
    if (unavailableCodes.test(code) || unavailableMessages.test(message)) return true;
  }
  return connectionFailureOf(error) !== undefined;
}

/**
 * Returns whether the database rolled back a transaction in favour of another one, for example to resolve a
 * deadlock. A retry can succeed immediately.
 */
export function isTransactionConflict(error: unknown): boolean {
  for (const { code } of databaseCausesOf(error)) {
    if (conflictCodes.test(code)) return true;
  }
  return false;
}

/** Returns whether a statement that does not wait for locks found that another transaction has the lock. */
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
export function isTimeout(error: unknown): boolean {
  for (const { message } of databaseCausesOf(error)) {
    if (message === "Query read timeout") return true;
  }
  return false;
}

/** Yields codes and messages of an error and of its causes. */
function* databaseCausesOf(error: unknown): Generator<{ code: string; message: string }> {
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

/** Prisma stores the driver's error next to its own, and the server's in an object that is not an Error. */
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
 * Connection errors, refused credentials, a missing database, operator intervention, read-only during a
 * failover, too many connections, and the equivalents of sockets and Prisma, including transactions that
 * could not start in time.
 */
const unavailableCodes =
  /^(?:08...|28000|28P01|3D000|57P0[1-4]|57014|25006|53300|ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|EAI_AGAIN|ENOTFOUND|P1000|P1001|P1002|P1003|P1008|P1010|P1011|P1017|P2024|P2028)$/;
const unavailableMessages =
  /^(?:timeout exceeded when trying to connect|Connection terminated|Query read timeout|Client has encountered a connection error)/;
/** A deadlock, a serialization failure, and Prisma's code for both. */
const conflictCodes = /^(?:40P01|40001|P2034)$/;

/** Time limit of the database for queries with a fallback. */
const patienceMs = 1_000;
/** During an outage one query per interval checks whether it is over; the others fail immediately. */
const retryMs = 1_000;

/**
 * Tracks whether the database is available, for the few queries with a fallback: those that keep a game from
 * being stopped while it is played. A frozen server is detected only by a statement timeout, after seconds,
 * which would delay each of these queries.
 */
export class DatabaseOutages {
  readonly #clock: Clock;
  readonly #logger: Logger;
  /** Set while the last query failed. */
  #outage: { cause: DomainError; nextTryMs: number } | undefined;

  constructor({ clock, logger }: { clock: Clock; logger: Logger }) {
    this.#clock = clock;
    this.#logger = logger;
  }

  /**
   * Returns the result of `ask`. If the database does not respond, returns the result of `fallback`, which
   * gets the reason as `unavailable` and can throw it. Other errors of `ask` are thrown. A query that timed
   * out may still take effect.
   */
  async orElse<T>(ask: () => Promise<T>, fallback: (unavailable: DomainError) => T | Promise<T>): Promise<T> {
    const outage = this.#outage;
    if (outage !== undefined) {
      if (this.#clock.monotonicMs() < outage.nextTryMs) return fallback(outage.cause);
      outage.nextTryMs = this.#clock.monotonicMs() + retryMs;
    }
    try {
      const response = await withTimeout(ask(), patienceMs, "The database", this.#clock);
      this.#end();
      return response;
    } catch (error) {
      if (!(error instanceof DeadlineExceeded) && !isDatabaseUnavailable(error)) throw error;
      return fallback(this.#begin(error));
    }
  }

  #begin(error: unknown): DomainError {
    const cause = unavailable("The service is unavailable right now. Try again in a moment.", error);
    if (this.#outage === undefined)
      this.#logger.warn(
        { err: error },
        "The database is unavailable. Until it is back, running sessions are kept alive through their objects in the cluster.",
      );
    this.#outage = { cause, nextTryMs: this.#clock.monotonicMs() + retryMs };
    return cause;
  }

  #end(): void {
    if (this.#outage === undefined) return;
    this.#outage = undefined;
    this.#logger.info({}, "The database is available again.");
  }
}

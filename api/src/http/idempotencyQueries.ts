import { limits } from "#contracts/limits.ts";
import type { Queryable } from "../stores/queryable.ts";
import { deleteOldRows } from "../stores/sweepRows.ts";
import type { Postgres } from "../stores/postgres.ts";

/**
 * Identifies a request that must be done once. The client chooses the key, so it is unique only together with
 * the principal and the route.
 */
interface IdempotentRequest {
  /** `user:<id>` or `partner:<id>`. */
  principal: string;
  /** Method and path pattern. */
  route: string;
  key: string;
  /** Digest of the request. */
  fingerprint: string;
}

/** The exclusive right of one request to do the work. */
export interface IdempotentAttempt extends Omit<IdempotentRequest, "fingerprint"> {
  attempt: string;
}

/** State of a key when a request arrives. */
type IdempotencyClaim =
  | { kind: "claimed" }
  /** Another request with the key is in progress. */
  | { kind: "running" }
  /** The key was used for a different request. */
  | { kind: "reused" }
  | { kind: "done"; response: unknown };

interface KnownRow {
  isSame: boolean;
  response: unknown;
}

const attemptsMax = 3;
const { keptSeconds, leaseSeconds } = limits.idempotency;

/**
 * Takes the key for this attempt, unless its request is done or in progress, and returns its state. Keys
 * older than a day, and those of requests whose process died, are taken over.
 */
export async function insertIdempotencyKey(
  db: Queryable,
  { principal, route, key, fingerprint }: IdempotentRequest,
  attempt: string,
): Promise<IdempotencyClaim> {
  for (let count = 0; count < attemptsMax; count++) {
    const { rowCount } = await db.query({
      name: "claim-idempotency-key",
      text: `INSERT INTO idempotency_keys AS known (principal, route, key, fingerprint, attempt, leased_until)
        VALUES ($1, $2, $3, $4, $5, now() + make_interval(secs => $6))
        ON CONFLICT (principal, route, key) DO UPDATE SET
          fingerprint = excluded.fingerprint, attempt = excluded.attempt, leased_until = excluded.leased_until, answer = NULL, created_at = now()
        WHERE known.created_at < now() - make_interval(secs => $7)
          OR (known.answer IS NULL AND known.leased_until < now() AND known.fingerprint = excluded.fingerprint)`,
      values: [principal, route, key, fingerprint, attempt, leaseSeconds, keptSeconds],
    });
    if (rowCount === 1) return { kind: "claimed" };
    const {
      rows: [known],
    } = await db.query<KnownRow>({
      name: "find-idempotency-key",
      text: `SELECT fingerprint = $4 AS "isSame", answer AS response FROM idempotency_keys WHERE principal = $1 AND route = $2 AND key = $3`,
      values: [principal, route, key, fingerprint],
    });
    // The key was deleted between the two statements, so it is free again.
    if (known === undefined) continue;
    if (!known.isSame) return { kind: "reused" };
    return known.response === null ? { kind: "running" } : { kind: "done", response: known.response };
  }
  return { kind: "running" };
}

/**
 * Renews the lease of an attempt in progress; false when its response is stored or another attempt has the
 * key.
 */
export async function updateIdempotencyLease(
  db: Queryable,
  { principal, route, key, attempt }: IdempotentAttempt,
): Promise<boolean> {
  const { rowCount } = await db.query({
    name: "renew-idempotency-key",
    text: `UPDATE idempotency_keys SET leased_until = now() + make_interval(secs => $5)
      WHERE principal = $1 AND route = $2 AND key = $3 AND attempt = $4 AND answer IS NULL`,
    values: [principal, route, key, attempt, leaseSeconds],
  });
  return rowCount === 1;
}

/** Stores the response for retries; false when another attempt has the key. */
export async function updateIdempotencyResponse(
  db: Queryable,
  { principal, route, key, attempt }: IdempotentAttempt,
  response: unknown,
): Promise<boolean> {
  const { rowCount } = await db.query({
    name: "remember-response",
    text: "UPDATE idempotency_keys SET answer = $5 WHERE principal = $1 AND route = $2 AND key = $3 AND attempt = $4",
    values: [principal, route, key, attempt, JSON.stringify(response)],
  });
  return rowCount === 1;
}

/**
 * Deletes the key of a failed attempt, so the next request with it does the work. An attempt with a stored
 * response is kept unless `hasFailed` is set.
 */
export async function deleteIdempotencyKey(
  db: Queryable,
  { principal, route, key, attempt }: IdempotentAttempt,
  hasFailed: boolean,
): Promise<void> {
  await db.query({
    name: "give-back-idempotency-key",
    text: "DELETE FROM idempotency_keys WHERE principal = $1 AND route = $2 AND key = $3 AND attempt = $4 AND (answer IS NULL OR $5)",
    values: [principal, route, key, attempt, hasFailed],
  });
}

/** Deletes at most `max` expired keys and returns their number. */
async function deleteOldIdempotencyKeys(db: Queryable, max: number): Promise<number> {
  const { rowCount } = await db.query({
    name: "sweep-idempotency-keys",
    text: `DELETE FROM idempotency_keys WHERE (principal, route, key) IN (
        SELECT principal, route, key FROM idempotency_keys WHERE created_at < now() - make_interval(secs => $1)
        ORDER BY created_at LIMIT $2 FOR UPDATE SKIP LOCKED)`,
    values: [keptSeconds, max],
  });
  return rowCount ?? 0;
}

/** What sweeping idempotency keys needs. */
export interface SweepIdempotencyKeysDeps {
  postgres: Postgres;
}

/** Deletes expired idempotency keys. */
export async function sweepIdempotencyKeys({ postgres }: SweepIdempotencyKeysDeps): Promise<void> {
  await deleteOldRows((max) => deleteOldIdempotencyKeys(postgres.pool, max));
}

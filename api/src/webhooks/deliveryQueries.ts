import type { DeliveryStatus } from "#contracts/http/webhooks.ts";
import { limits } from "#contracts/limits.ts";
import type { Queryable } from "../stores/queryable.ts";

const { webhook } = limits;
/** SQL expression: the end of the retries of a delivery that starts now. */
const expiry = `now() + make_interval(secs => ${webhook.retrySeconds})`;
/** Until then an attempt is over, or its process is gone and another one repeats it. */
const leaseSeconds = 3 * webhook.attemptSeconds;

/** A delivery as its partner sees it. */
export interface DeliveryRow {
  id: string;
  number: string;
  type: string;
  data: Record<string, unknown>;
  status: DeliveryStatus;
  createdAt: Date;
  attempts: number;
  lastAttemptAt: Date | null;
  nextAttemptAt: Date | null;
  responseStatus: number | null;
  response: string | null;
  error: string | null;
}

const columns = `d.id, d.number::text AS number, d.type, d.data, d.status, d.created_at AS "createdAt", d.attempts, d.last_attempt_at AS "lastAttemptAt",
  d.next_attempt_at AS "nextAttemptAt", d.response_status AS "responseStatus", d.response, d.error`;

/** Selects deliveries of an endpoint. */
export interface DeliveryFilter {
  status: DeliveryStatus | undefined;
  /** Only deliveries with a smaller number. */
  before: string | undefined;
  limit: number;
}

/** Returns an endpoint's deliveries, newest first. */
export async function listDeliveries(
  db: Queryable,
  endpointId: string,
  { status, before, limit }: DeliveryFilter,
): Promise<DeliveryRow[]> {
  const { rows } = await db.query<DeliveryRow>({
    name: "list-webhook-deliveries",
    text: `SELECT ${columns} FROM webhook_deliveries d
      WHERE d.endpoint_id = $1 AND ($2::webhook_delivery_status IS NULL OR d.status = $2) AND ($3::bigint IS NULL OR d.number < $3)
      ORDER BY d.number DESC LIMIT $4`,
    values: [endpointId, status ?? null, before ?? null, limit],
  });
  return rows;
}

/** Stores a delivery for one endpoint whatever events it wants, and returns it. */
export async function insertDelivery(
  db: Queryable,
  endpointId: string,
  { type, data }: { type: string; data: object },
): Promise<DeliveryRow> {
  const { rows } = await db.query<DeliveryRow>({
    name: "insert-webhook-delivery",
    text: `INSERT INTO webhook_deliveries AS d (id, endpoint_id, type, data, expires_at)
      VALUES ('msg_' || replace(gen_random_uuid()::text, '-', ''), $1, $2, $3, ${expiry}) RETURNING ${columns}`,
    values: [endpointId, type, JSON.stringify(data)],
  });
  if (rows[0] === undefined) throw new Error("The delivery was not stored.");
  return rows[0];
}

/** Makes a delivery due now, whatever its status, with a new time for retries; undefined if it is unknown. */
export async function updateDeliveryReplayed(
  db: Queryable,
  endpointId: string,
  id: string,
): Promise<DeliveryRow | undefined> {
  const { rows } = await db.query<DeliveryRow>({
    name: "replay-webhook-delivery",
    text: `UPDATE webhook_deliveries d SET status = 'pending', attempts = 0, next_attempt_at = now(), expires_at = ${expiry}
      WHERE d.endpoint_id = $1 AND d.id = $2 RETURNING ${columns}`,
    values: [endpointId, id],
  });
  return rows[0];
}

/** A delivery to attempt, with its endpoint. */
export interface ClaimedDelivery {
  id: string;
  /** Counts this attempt; guards what is stored about it. */
  attempts: number;
  lastAttemptAt: Date;
  type: string;
  data: Record<string, unknown>;
  createdAt: Date;
  endpointId: string;
  url: string;
  /** Encrypted. */
  secret: string;
  /** Encrypted; null if only one secret signs. */
  previousSecret: string | null;
}

/**
 * Claims the delivery that has been due for longest, for no endpoint in `except`; undefined if none is due.
 * If the process dies, the delivery is due again when its lease ends.
 */
export async function claimDelivery(
  db: Queryable,
  except: readonly string[],
): Promise<ClaimedDelivery | undefined> {
  const { rows } = await db.query<ClaimedDelivery>({
    name: "claim-webhook-delivery",
    text: `
      WITH due AS MATERIALIZED (
        SELECT d.id FROM webhook_deliveries d JOIN webhook_endpoints e ON e.id = d.endpoint_id JOIN partners p ON p.id = e.partner_id
        -- Stored times are rounded to milliseconds, so what is due now may seem to be due in half of one.
        WHERE d.status = 'pending' AND d.next_attempt_at <= now() + interval '1 ms' AND d.expires_at > now()
          AND e.disabled_at IS NULL AND p.suspended_at IS NULL AND e.id <> ALL ($1::text[])
        ORDER BY d.next_attempt_at LIMIT 1 FOR UPDATE OF d SKIP LOCKED
      )
      UPDATE webhook_deliveries d SET attempts = attempts + 1, last_attempt_at = clock_timestamp(),
        next_attempt_at = now() + make_interval(secs => ${leaseSeconds})
      FROM due, webhook_endpoints e WHERE d.id = due.id AND e.id = d.endpoint_id
      RETURNING d.id, d.attempts, coalesce(d.last_attempt_at, now()) AS "lastAttemptAt", d.type, d.data, d.created_at AS "createdAt",
        e.id AS "endpointId", e.url, e.secret, CASE WHEN e.previous_secret_until > now() THEN e.previous_secret END AS "previousSecret"`,
    values: [except],
  });
  return rows[0];
}

/** The response of an endpoint; null parts if there was none. */
export interface AttemptResponse {
  status: number | null;
  text: string | null;
}

/** Records a success, also if another process has claimed the delivery since. */
export async function updateDeliverySucceeded(
  db: Queryable,
  id: string,
  { status, text }: AttemptResponse,
): Promise<void> {
  await db.query({
    name: "record-webhook-success",
    text: `
      WITH succeeded AS (
        UPDATE webhook_deliveries SET status = 'succeeded', next_attempt_at = NULL, response_status = $2, response = $3, error = NULL
        WHERE id = $1 RETURNING endpoint_id
      )
      UPDATE webhook_endpoints e SET last_success_at = now(), failing_since = NULL FROM succeeded WHERE e.id = succeeded.endpoint_id`,
    values: [id, status, text],
  });
}

/** What a failed attempt leads to. */
export interface AttemptConsequence {
  /** Whether the delivery is not retried any longer. */
  isFinal: boolean;
  /** Whether every attempt of the endpoint has failed for too long. */
  isFailingTooLong: boolean;
}

/**
 * Records a failed attempt and when the next one is due, if that is before the end of the retries. Undefined
 * if another process has claimed the delivery since, or the endpoint was removed.
 */
export async function updateDeliveryFailed(
  db: Queryable,
  { id, attempts }: Pick<ClaimedDelivery, "id" | "attempts">,
  failure: AttemptResponse & { error: string; delaySeconds: number },
): Promise<AttemptConsequence | undefined> {
  const { rows } = await db.query<AttemptConsequence>({
    name: "record-webhook-failure",
    text: `
      WITH failed AS (
        UPDATE webhook_deliveries d SET response_status = $3, response = $4, error = $5,
          status = CASE WHEN next.at < d.expires_at THEN 'pending' ELSE 'failed' END::webhook_delivery_status,
          next_attempt_at = CASE WHEN next.at < d.expires_at THEN next.at END
        FROM (SELECT now() + make_interval(secs => $6::float8) AS at) AS next
        WHERE d.id = $1 AND d.attempts = $2 AND d.status = 'pending' RETURNING d.endpoint_id, d.status
      )
      UPDATE webhook_endpoints e SET failing_since = coalesce(e.failing_since, now()) FROM failed WHERE e.id = failed.endpoint_id
      RETURNING failed.status = 'failed' AS "isFinal",
        coalesce(e.failing_since < now() - make_interval(days => ${webhook.failingDays}), false) AS "isFailingTooLong"`,
    values: [id, attempts, failure.status, failure.text, failure.error, failure.delaySeconds],
  });
  return rows[0];
}

/** Fails deliveries that could not be attempted before the end of their retries; at most `max`. */
export async function updateDeliveriesExpired(db: Queryable, max: number): Promise<number> {
  const { rowCount } = await db.query({
    name: "expire-webhook-deliveries",
    text: `UPDATE webhook_deliveries SET status = 'failed', next_attempt_at = NULL, error = coalesce(error, 'It was not attempted in time.')
      WHERE id IN (SELECT id FROM webhook_deliveries
        WHERE status = 'pending' AND expires_at < now() AND next_attempt_at < now() ORDER BY next_attempt_at LIMIT $1)`,
    values: [max],
  });
  return rowCount ?? 0;
}

/** Deletes deliveries after their retention; at most `max`. Returns how many. */
export async function deleteOldDeliveries(db: Queryable, max: number): Promise<number> {
  const { rowCount } = await db.query({
    name: "delete-old-webhook-deliveries",
    text: `DELETE FROM webhook_deliveries WHERE id IN (SELECT id FROM webhook_deliveries
        WHERE status <> 'pending' AND created_at < now() - make_interval(days => ${webhook.keptDays}) LIMIT $1)`,
    values: [max],
  });
  return rowCount ?? 0;
}

/** Returns for how long the oldest due delivery has been due, in seconds; 0 if none is due. */
export async function findOldestDueSeconds(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ seconds: number }>({
    name: "oldest-due-webhook",
    text: `SELECT coalesce(extract(epoch FROM now() - min(d.next_attempt_at)), 0)::float8 AS seconds
      FROM webhook_deliveries d JOIN webhook_endpoints e ON e.id = d.endpoint_id JOIN partners p ON p.id = e.partner_id
      WHERE d.status = 'pending' AND d.next_attempt_at <= now() AND e.disabled_at IS NULL AND p.suspended_at IS NULL`,
    values: [],
  });
  return rows[0]?.seconds ?? 0;
}

import type { Queryable } from "../stores/queryable.ts";

/** An endpoint without its secrets. */
export interface EndpointRow {
  id: string;
  partnerId: string;
  url: string;
  description: string;
  events: string[];
  disabledAt: Date | null;
  disabledReason: string | null;
  createdAt: Date;
  lastSuccessAt: Date | null;
  failingSince: Date | null;
  waiting: number;
  droppedEvents: number;
  /** Null if only one secret signs. */
  previousSecretUntil: Date | null;
}

const columns = `e.id, e.partner_id AS "partnerId", e.url, e.description, coalesce(e.events, '{}') AS events, e.disabled_at AS "disabledAt",
  e.disabled_reason AS "disabledReason", e.created_at AS "createdAt", e.last_success_at AS "lastSuccessAt", e.failing_since AS "failingSince",
  (SELECT count(*)::int FROM webhook_deliveries d WHERE d.endpoint_id = e.id AND d.status = 'pending') AS waiting,
  e.dropped_events AS "droppedEvents", CASE WHEN e.previous_secret_until > now() THEN e.previous_secret_until END AS "previousSecretUntil"`;

/** Returns the partner's endpoints, oldest first. */
export async function listEndpoints(db: Queryable, partnerId: string): Promise<EndpointRow[]> {
  const { rows } = await db.query<EndpointRow>({
    name: "list-webhook-endpoints",
    text: `SELECT ${columns} FROM webhook_endpoints e WHERE e.partner_id = $1 ORDER BY e.created_at, e.id`,
    values: [partnerId],
  });
  return rows;
}

/** Returns the partner's endpoint; undefined if it is unknown or another partner's. */
export async function findEndpoint(
  db: Queryable,
  partnerId: string,
  id: string,
): Promise<EndpointRow | undefined> {
  const { rows } = await db.query<EndpointRow>({
    name: "find-webhook-endpoint",
    text: `SELECT ${columns} FROM webhook_endpoints e WHERE e.partner_id = $1 AND e.id = $2`,
    values: [partnerId, id],
  });
  return rows[0];
}

/** An endpoint about to be stored. */
export interface NewEndpoint {
  id: string;
  partnerId: string;
  url: string;
  description: string;
  events: readonly string[];
  isEnabled: boolean;
  /** Encrypted. */
  secret: string;
}

/** Locks the partner, so that concurrent requests do not exceed the number of endpoints, and counts them. */
export async function lockAndCountEndpoints(transaction: Queryable, partnerId: string): Promise<number> {
  await transaction.query({
    name: "lock-webhook-partner",
    text: "SELECT FROM partners WHERE id = $1 FOR NO KEY UPDATE",
    values: [partnerId],
  });
  const { rows } = await transaction.query<{ count: number }>({
    name: "count-webhook-endpoints",
    text: "SELECT count(*)::int AS count FROM webhook_endpoints WHERE partner_id = $1",
    values: [partnerId],
  });
  return rows[0]?.count ?? 0;
}

/** Stores an endpoint. */
export async function insertEndpoint(
  transaction: Queryable,
  { id, partnerId, url, description, events, isEnabled, secret }: NewEndpoint,
): Promise<void> {
  await transaction.query({
    name: "insert-webhook-endpoint",
    text: `INSERT INTO webhook_endpoints (id, partner_id, url, description, events, disabled_at, secret)
      VALUES ($1, $2, $3, $4, $5, CASE WHEN $6::bool THEN NULL ELSE now() END, $7)`,
    values: [id, partnerId, url, description, events, isEnabled, secret],
  });
}

/** What a partner changes of an endpoint; undefined keeps a value. */
export interface EndpointChange {
  url?: string | undefined;
  description?: string | undefined;
  events?: readonly string[] | undefined;
  isEnabled?: boolean | undefined;
}

/**
 * Changes an endpoint. Its waiting deliveries fail when it is disabled, and a new address has not failed yet.
 * Returns false if it is unknown or another partner's.
 */
export async function updateEndpoint(
  db: Queryable,
  partnerId: string,
  id: string,
  { url, description, events, isEnabled }: EndpointChange,
): Promise<boolean> {
  const { rowCount } = await db.query({
    name: "update-webhook-endpoint",
    text: `
      WITH ended AS (
        UPDATE webhook_deliveries SET status = 'failed', next_attempt_at = NULL, error = 'The webhook was disabled.'
        WHERE endpoint_id = $2 AND status = 'pending' AND NOT $6::bool
          AND EXISTS (SELECT FROM webhook_endpoints WHERE partner_id = $1 AND id = $2)
      )
      UPDATE webhook_endpoints SET url = coalesce($3, url), description = coalesce($4, description), events = coalesce($5, events),
        disabled_at = CASE WHEN $6 THEN NULL WHEN NOT $6 THEN coalesce(disabled_at, now()) ELSE disabled_at END,
        disabled_reason = CASE WHEN $6 THEN NULL ELSE disabled_reason END,
        failing_since = CASE WHEN ($6 AND disabled_at IS NOT NULL) OR $3 <> url THEN NULL ELSE failing_since END
      WHERE partner_id = $1 AND id = $2`,
    values: [partnerId, id, url ?? null, description ?? null, events ?? null, isEnabled ?? null],
  });
  return rowCount === 1;
}

/**
 * Disables an endpoint and fails its waiting deliveries. Returns the id of its partner; undefined if it was
 * disabled or removed before.
 */
export async function updateEndpointDisabled(
  db: Queryable,
  id: string,
  reason: "failing" | "gone",
): Promise<string | undefined> {
  const { rows } = await db.query<{ partnerId: string }>({
    name: "disable-webhook-endpoint",
    text: `
      WITH disabled AS (
        UPDATE webhook_endpoints SET disabled_at = now(), disabled_reason = $2 WHERE id = $1 AND disabled_at IS NULL
        RETURNING id, partner_id
      ), ended AS (
        UPDATE webhook_deliveries d SET status = 'failed', next_attempt_at = NULL, error = 'The webhook was disabled.'
        FROM disabled WHERE d.endpoint_id = disabled.id AND d.status = 'pending'
      )
      SELECT partner_id AS "partnerId" FROM disabled`,
    values: [id, reason],
  });
  return rows[0]?.partnerId;
}

/** Replaces the (encrypted) secret; the one before signs for some more time. False if it is unknown. */
export async function updateEndpointSecret(
  db: Queryable,
  partnerId: string,
  id: string,
  { secret, previousSeconds }: { secret: string; previousSeconds: number },
): Promise<boolean> {
  const { rowCount } = await db.query({
    name: "rotate-webhook-secret",
    text: `UPDATE webhook_endpoints SET previous_secret = secret, previous_secret_until = now() + make_interval(secs => $4), secret = $3
      WHERE partner_id = $1 AND id = $2`,
    values: [partnerId, id, secret, previousSeconds],
  });
  return rowCount === 1;
}

/** Removes an endpoint with its deliveries. False if it is unknown. */
export async function deleteEndpoint(db: Queryable, partnerId: string, id: string): Promise<boolean> {
  const { rowCount } = await db.query({
    name: "delete-webhook-endpoint",
    text: "DELETE FROM webhook_endpoints WHERE partner_id = $1 AND id = $2",
    values: [partnerId, id],
  });
  return rowCount === 1;
}

/** An endpoint's encrypted secrets. */
export interface SealedSecrets {
  id: string;
  secret: string;
  previousSecret: string | null;
}

/** Returns endpoints with a secret that another key than `keyId` has encrypted. */
export async function listSecretsOfOtherKeys(db: Queryable, keyId: string): Promise<SealedSecrets[]> {
  const { rows } = await db.query<SealedSecrets>({
    name: "list-webhook-secrets-of-other-keys",
    text: `SELECT id, secret, previous_secret AS "previousSecret" FROM webhook_endpoints
      WHERE split_part(secret, '.', 1) <> $1 OR split_part(previous_secret, '.', 1) <> $1 LIMIT 1000`,
    values: [keyId],
  });
  return rows;
}

/** Stores secrets that were encrypted again, unless they have been rotated meanwhile. */
export async function updateSealedSecrets(
  db: Queryable,
  { id, secret }: SealedSecrets,
  sealed: Pick<SealedSecrets, "secret" | "previousSecret">,
): Promise<void> {
  await db.query({
    name: "reseal-webhook-secrets",
    text: "UPDATE webhook_endpoints SET secret = $3, previous_secret = $4 WHERE id = $1 AND secret = $2",
    values: [id, secret, sealed.secret, sealed.previousSecret],
  });
}

import type { Queryable } from "../stores/queryable.ts";

/** A row of the audit trail; unknown values are null. */
export interface NewAuditRow {
  action: string;
  actorKind: string;
  actorId: string | null;
  subjectKind: string | null;
  subjectId: string | null;
  ipPrefix: string | null;
  requestId: string | null;
  details: Readonly<Record<string, unknown>>;
}

/** Appends a row to the audit trail. */
export async function insertAuditEvent(
  db: Queryable,
  { action, actorKind, actorId, subjectKind, subjectId, ipPrefix, requestId, details }: NewAuditRow,
): Promise<void> {
  await db.query({
    name: "record-audit-event",
    text: `INSERT INTO audit_events (action, actor_kind, actor_id, subject_kind, subject_id, ip_prefix, request_id, details)
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
    values: [
      action,
      actorKind,
      actorId,
      subjectKind,
      subjectId,
      ipPrefix,
      requestId,
      JSON.stringify(details),
    ],
  });
}

/** The actor or the subject of an event. */
export interface AuditPrincipal {
  kind: string;
  id: string;
}

/** Filter of events; an undefined part matches all events. */
export interface AuditFilter {
  since: Date | undefined;
  /** Events of any of these principals. */
  principals: readonly AuditPrincipal[] | undefined;
  /** Only events with a smaller id. */
  before: string | undefined;
  limit: number;
}

/** A stored row of the audit trail. */
export interface AuditRow extends NewAuditRow {
  id: string;
  at: Date;
}

const columns = `id::text, at, action, actor_kind AS "actorKind", actor_id AS "actorId", subject_kind AS "subjectKind", subject_id AS "subjectId",
  ip_prefix AS "ipPrefix", request_id AS "requestId", details`;
const isWanted = "($1::timestamptz IS NULL OR at >= $1) AND ($2::bigint IS NULL OR id < $2)";

/** Returns the events that match the filter, newest first. */
export async function listAuditRows(
  db: Queryable,
  { since, principals, before, limit }: AuditFilter,
): Promise<AuditRow[]> {
  const values = [since ?? null, before ?? null, limit];
  const { rows } =
    principals === undefined
      ? await db.query<AuditRow>(
          `SELECT ${columns} FROM audit_events WHERE ${isWanted} ORDER BY audit_events.id DESC LIMIT $3`,
          values,
        )
      : await db.query<AuditRow>(
          `SELECT ${columns} FROM audit_events WHERE id IN (
         SELECT id FROM (${idsOf("actor")} UNION ${idsOf("subject")}) AS found ORDER BY id DESC LIMIT $3)
       ORDER BY audit_events.id DESC`,
          [...values, principals.map(({ kind }) => kind), principals.map(({ id }) => id)],
        );
  return rows;
}

/**
 * Returns the SQL for the newest events with one of the principals in that part. Each part has its own index,
 * which one condition on both would not use.
 */
function idsOf(part: "actor" | "subject"): string {
  return `SELECT event.id FROM unnest($4::text[], $5::text[]) AS principal(kind, id) CROSS JOIN LATERAL (
    SELECT id FROM audit_events WHERE ${part}_kind = principal.kind AND ${part}_id = principal.id AND ${isWanted} ORDER BY id DESC LIMIT $3) AS event`;
}

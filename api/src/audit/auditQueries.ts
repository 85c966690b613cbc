import type { Queryable } from "../stores/queryable.ts";

/** A row of the audit trail; null for what is not known. */
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
  db: Queryable, { action, actorKind, actorId, subjectKind, subjectId, ipPrefix, requestId, details }: NewAuditRow,
): Promise<void> {
  await db.query({
    name: "audit.record",
    text: `INSERT INTO audit_events (action, actor_kind, actor_id, subject_kind, subject_id, ip_prefix, request_id, details)
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
    values: [action, actorKind, actorId, subjectKind, subjectId, ipPrefix, requestId, JSON.stringify(details)],
  });
}

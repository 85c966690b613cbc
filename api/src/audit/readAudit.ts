import type { Postgres } from "../stores/postgres.ts";
import { listAuditRows, type AuditFilter, type AuditRow } from "./auditQueries.ts";

/** An event as the command line shows it; null for what is not known. */
export interface ListedAuditEvent {
  id: string;
  at: string;
  action: string;
  actor: { kind: string; id: string | null };
  subject: { kind: string; id: string | null } | null;
  /** The client's network: /24 of IPv4, /48 of IPv6. */
  network: string | null;
  requestId: string | null;
  details: unknown;
}

/**
 * A page of the trail, the newest event first. `before` continues with older ones; null when there are none.
 */
export interface AuditPage {
  events: ListedAuditEvent[];
  before: string | null;
}

/** Returns the newest events that the filter lets through. */
export async function readAudit(
  { postgres }: { postgres: Postgres },
  filter: AuditFilter,
): Promise<AuditPage> {
  const rows = await listAuditRows(postgres.pool, { ...filter, limit: filter.limit + 1 });
  const events = rows.slice(0, filter.limit).map(presentEvent);
  return { events, before: rows.length > filter.limit ? (events.at(-1)?.id ?? null) : null };
}

function presentEvent({
  id,
  at,
  action,
  actorKind,
  actorId,
  subjectKind,
  subjectId,
  ipPrefix,
  requestId,
  details,
}: AuditRow): ListedAuditEvent {
  return {
    id,
    at: at.toISOString(),
    action,
    actor: { kind: actorKind, id: actorId },
    subject: subjectKind === null ? null : { kind: subjectKind, id: subjectId },
    network: ipPrefix,
    requestId,
    details,
  };
}

import type { Logger } from "#runtime/logger.ts";
import { ipPrefixOf } from "../http/clientNetwork.ts";
import type { Postgres } from "../stores/postgres.ts";
import { insertAuditEvent, listAuditRows, type AuditFilter, type AuditRow } from "./auditQueries.ts";

/** An action of a user, a partner or an operator. */
export interface AuditEvent {
  /** Subject and event, such as `signIn.succeeded`. */
  action: string;
  actor: { kind: "user" | "partner" | "operator" | "anonymous"; id?: string };
  subject?: { kind: string; id: string };
  /** The client's address; only its network is stored. */
  address?: string;
  requestId?: string;
  details?: Record<string, string | number | boolean>;
}

/** Keys that one process remembers having recorded. */
const recentMax = 10_000;

/** The append-only trail of security-relevant actions. */
export class Audit {
  readonly #postgres: Postgres;
  readonly #logger: Logger;
  /** Time when the event of a key may be recorded again, in milliseconds of `performance.now()`. */
  readonly #recent = new Map<string, number>();
  readonly #pending = new Set<Promise<void>>();

  constructor(postgres: Postgres, logger: Logger) {
    this.#postgres = postgres;
    this.#logger = logger;
  }

  /**
   * Records an event. If it cannot be stored, it is logged, because the action itself has already happened.
   */
  async record({ action, actor, subject, address, requestId, details = {} }: AuditEvent): Promise<void> {
    const ipPrefix = address === undefined ? null : ipPrefixOf(address);
    try {
      await insertAuditEvent(this.#postgres.pool, {
        action,
        actorKind: actor.kind,
        actorId: actor.id ?? null,
        subjectKind: subject?.kind ?? null,
        subjectId: subject?.id ?? null,
        ipPrefix,
        requestId: requestId ?? null,
        details,
      });
    } catch (error) {
      this.#logger.error(
        { err: error, action, actor, subject, ipPrefix, requestId, details },
        "The API could not store an audit event.",
      );
    }
  }

  /**
   * Records an event that anybody can cause repeatedly, at most once per `quietMs` milliseconds for the same
   * key and network. Does not wait for the database.
   */
  recordRarely(key: string, event: AuditEvent, quietMs = 60_000): void {
    const place = `${key} ${event.address === undefined ? "" : ipPrefixOf(event.address)}`;
    const nowMs = performance.now();
    if ((this.#recent.get(place) ?? 0) > nowMs) return;
    this.#recent.delete(place);
    this.#recent.set(place, nowMs + quietMs);
    for (const oldest of this.#recent.keys()) {
      if (this.#recent.size <= recentMax) break;
      this.#recent.delete(oldest);
    }
    this.recordLater(event);
  }

  /** Records an event without waiting for the database. */
  recordLater(event: AuditEvent): void {
    const recording = this.record(event).finally(() => this.#pending.delete(recording));
    this.#pending.add(recording);
  }

  /** Resolves when every event is stored. */
  async settled(): Promise<void> {
    await Promise.all(this.#pending);
  }
}

/** An event for the command line; unknown values are null. */
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
 * A page of the trail, newest event first. `before` is the cursor for older events; null on the last page.
 */
interface AuditPage {
  events: ListedAuditEvent[];
  before: string | null;
}

/** Returns the newest events that match the filter. */
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

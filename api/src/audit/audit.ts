import type { Logger } from "#runtime/logger.ts";
import { ipPrefixOf } from "../http/clientNetwork.ts";
import type { Postgres } from "../stores/postgres.ts";
import { insertAuditEvent, listAuditRows, type AuditFilter, type AuditRow } from "./auditQueries.ts";

/** An action of a user, a partner or an operator. */
export interface AuditEvent {
  /** The subject, then what happened to it, such as `signIn.succeeded`. */
  action: string;
  actor: { kind: "user" | "partner" | "operator" | "anonymous"; id?: string };
  subject?: { kind: string; id: string };
  /** The client's address; only its network is kept. */
  address?: string;
  requestId?: string;
  details?: Record<string, string | number | boolean>;
}

/** Keys that one process remembers having recorded. */
const recentMax = 10_000;

/** The append-only trail of who did what. */
export class Audit {
  readonly #postgres: Postgres;
  readonly #logger: Logger;
  /** When the event of a key may be recorded again, in milliseconds of `performance.now()`. */
  readonly #recent = new Map<string, number>();
  readonly #pending = new Set<Promise<void>>();

  constructor(postgres: Postgres, logger: Logger) {
    this.#postgres = postgres;
    this.#logger = logger;
  }

  /** Records an event. One that cannot be stored goes to the log, because it must not undo what happened. */
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
   * Records an event that anybody can cause at will, at most once in `quietMs` milliseconds for the same key
   * and network, so that the trail stays small. The request does not wait for it.
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

  /** Records an event that the request does not wait for. */
  recordLater(event: AuditEvent): void {
    const recording = this.record(event).finally(() => this.#pending.delete(recording));
    this.#pending.add(recording);
  }

  /** Resolves when every event is stored. */
  async settled(): Promise<void> {
    await Promise.all(this.#pending);
  }
}

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
interface AuditPage {
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

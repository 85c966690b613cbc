import type { Logger } from "#runtime/logger.ts";
import { ipPrefixOf } from "../http/clientNetwork.ts";
import type { Postgres } from "../stores/postgres.ts";

export interface AuditEvent {
  /** Such as `signIn.succeeded`: subject, then what happened to it. */
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
  /** By key, when an event may be recorded again. */
  readonly #recent = new Map<string, number>();
  readonly #pending = new Set<Promise<void>>();

  constructor(postgres: Postgres, logger: Logger) {
    this.#postgres = postgres;
    this.#logger = logger;
  }

  /** Records an event; one that cannot be stored goes to the log, for it must not undo what happened. */
  async record({ action, actor, subject, address, requestId, details = {} }: AuditEvent): Promise<void> {
    const ipPrefix = address === undefined ? null : ipPrefixOf(address);
    try {
      await this.#postgres.pool.query({
        name: "audit.record",
        text: `INSERT INTO audit_events (action, actor_kind, actor_id, subject_kind, subject_id, ip_prefix, request_id, details)
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
        values: [action, actor.kind, actor.id ?? null, subject?.kind ?? null, subject?.id ?? null, ipPrefix, requestId ?? null, JSON.stringify(details)],
      });
    } catch (error) {
      this.#logger.error({ err: error, action, actor, subject, ipPrefix, requestId, details }, "an audit event could not be stored");
    }
  }

  /**
   * Records what anybody can bring about at will, at most once in `quietMs` for the same key and network, so that the trail
   * stays small. The request does not wait for it.
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

  /** Resolves when nothing is on its way to the trail any more. */
  async settled(): Promise<void> {
    await Promise.all(this.#pending);
  }
}

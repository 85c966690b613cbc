import type { Logger } from "#kube/logger.ts";
import type { Postgres } from "./postgres.ts";

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

/** The append-only trail of who did what. */
export class Audit {
  readonly #postgres: Postgres;
  readonly #logger: Logger;

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
}

/** /24 of IPv4, /48 of IPv6: enough to see a pattern, too little to name a person. */
export function ipPrefixOf(address: string): string {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, "");
  if (plain.includes(":")) return `${plain.split(":").slice(0, 3).join(":")}::/48`;
  return `${plain.split(".").slice(0, 3).join(".")}.0/24`;
}

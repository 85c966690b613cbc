import { limits } from "#contracts/limits.ts";
import type { WebhookEvent } from "#contracts/http/webhooks.ts";
import { printableText } from "#runtime/printableText.ts";
import type { Queryable } from "../stores/queryable.ts";

const { webhook } = limits;

/**
 * Records an event of a game for each endpoint of its partner that wants it. Call it in the transaction of
 * what happened, so that the event is sent exactly if that is committed. An endpoint whose queue is full
 * counts the event instead, and one that is being removed is left out.
 */
export async function recordWebhookEvent(
  transaction: Queryable,
  gameId: string,
  { type, data }: WebhookEvent,
): Promise<void> {
  await transaction.query({
    name: "record-webhook-event",
    text: `
      WITH receivers AS MATERIALIZED (
        SELECT e.id, g.slug, (SELECT v.label FROM game_versions v WHERE v.game_id = g.id AND v.id = $3::jsonb ->> 'gameVersionId') AS label,
          EXISTS (SELECT FROM webhook_deliveries d
            WHERE d.endpoint_id = e.id AND d.status = 'pending' OFFSET ${webhook.queue - 1} LIMIT 1) AS is_full
        FROM games g JOIN partners p ON p.id = g.partner_id JOIN webhook_endpoints e ON e.partner_id = p.id
        WHERE g.id = $1 AND p.suspended_at IS NULL AND e.disabled_at IS NULL AND (e.events = '{}' OR $2 = ANY(e.events))
        FOR KEY SHARE OF e
      ), dropped AS (
        UPDATE webhook_endpoints e SET dropped_events = dropped_events + 1 FROM receivers r WHERE e.id = r.id AND r.is_full
      )
      INSERT INTO webhook_deliveries (id, endpoint_id, type, data, expires_at)
      SELECT 'msg_' || replace(gen_random_uuid()::text, '-', ''), r.id, $2, jsonb_build_object('gameSlug', r.slug, 'versionLabel', r.label) || $3::jsonb,
        now() + make_interval(secs => ${webhook.retrySeconds})
      FROM receivers r WHERE NOT r.is_full`,
    values: [gameId, type, JSON.stringify(data, storable)],
  });
}

/** The database stores no NUL characters, and messages may quote names of files. */
function storable(_name: string, value: unknown): unknown {
  return typeof value === "string" ? printableText(value) : value;
}

import type { GameSessionSpec } from "#contracts/crd/gameSession.ts";
import type { Queryable } from "../stores/queryable.ts";

/** A session that the cluster has not been told of. */
export interface UncreatedSession {
  id: string;
  spec: GameSessionSpec;
  ageSeconds: number;
}

/** Locks the oldest starting session that has no object yet and is nobody's just now. */
export async function claimUncreated(transaction: Queryable, graceSeconds: number): Promise<UncreatedSession | undefined> {
  const { rows } = await transaction.query<UncreatedSession>({
    name: "claim-uncreated",
    text: `SELECT id, spec, extract(epoch FROM now() - started_at)::float8 AS "ageSeconds" FROM game_sessions
      WHERE cr_created_at IS NULL AND status = 'starting' AND started_at < now() - make_interval(secs => $1)
      ORDER BY started_at LIMIT 1 FOR UPDATE SKIP LOCKED`,
    values: [graceSeconds],
  });
  return rows[0];
}

/** Begins the end of every session whose idle timeout has passed; gives their ids. A keepalive at the same moment wins or loses as a whole. */
export async function beginIdleStops(db: Queryable): Promise<string[]> {
  const { rows } = await db.query<{ id: string }>({
    name: "begin-idle-stops",
    text: `UPDATE game_sessions SET status = 'stopping', stop_reason = 'IdleTimeout', stopping_at = now()
      WHERE status = 'running' AND expires_at < now() RETURNING id`,
  });
  return rows.map(({ id }) => id);
}

/** Ids of all sessions that have not ended. */
export async function listActiveIds(db: Queryable): Promise<string[]> {
  const { rows } = await db.query<{ id: string }>({
    name: "list-active-ids",
    text: "SELECT id FROM game_sessions WHERE status IN ('starting', 'running', 'stopping')",
  });
  return rows.map(({ id }) => id);
}

import type { PublicStatus } from "#contracts/crd/sessionState.ts";
import type { Queryable } from "../../stores/queryable.ts";

/** Selects sessions for an admin. */
export interface SessionFilter {
  userId: string | undefined;
  /** The game's slug. */
  game: string | undefined;
  /** Only sessions that have not ended. */
  isActive: boolean;
  /** Only sessions that started before this one. */
  after: string | undefined;
  limit: number;
}

/** A session in an admin's list. */
export interface ListedSession {
  id: string;
  status: PublicStatus;
  email: string;
  game: string;
  node: string | null;
  startedAt: Date;
  endedAt: Date | null;
  durationSeconds: number | null;
  stopReason: string | null;
  failureReason: string | null;
}

/** Returns the matching sessions, newest first. */
export async function listSessions(
  db: Queryable,
  { userId, game, isActive, after, limit }: SessionFilter,
): Promise<ListedSession[]> {
  const { rows } = await db.query<ListedSession>({
    text: `SELECT s.id, s.status, u.email, g.slug AS game, s.node, s.started_at AS "startedAt", s.ended_at AS "endedAt",
        s.duration_seconds AS "durationSeconds", s.stop_reason AS "stopReason", s.failure_reason AS "failureReason"
      FROM game_sessions s JOIN users u ON u.id = s.user_id JOIN games g ON g.id = s.game_id
      WHERE ($1::text IS NULL OR s.user_id = $1) AND ($2::text IS NULL OR g.slug = $2)
        AND (NOT $3::bool OR s.status IN ('starting', 'running', 'stopping'))
        AND ($4::text IS NULL OR (s.started_at, s.id) < (SELECT c.started_at, c.id FROM game_sessions c WHERE c.id = $4))
      ORDER BY s.started_at DESC, s.id DESC LIMIT $5`,
    values: [userId ?? null, game ?? null, isActive, after ?? null, limit],
  });
  return rows;
}

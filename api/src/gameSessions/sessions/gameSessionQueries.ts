import { limits } from "#contracts/limits.ts";
import type { PublicStatus } from "#contracts/crd/sessionState.ts";
import type { GameSessionSpec, StopReason } from "#contracts/crd/gameSessionSpec.ts";
import type { QueueRow } from "../queue/presentQueued.ts";
import type { Queryable } from "../../stores/queryable.ts";

/** A user's session as the HTTP interface shows it. */
export interface GameSessionRow {
  id: string;
  status: PublicStatus;
  gameSlug: string;
  gameTitle: string;
  startedAt: Date;
  readyAt: Date | null;
  expiresAt: Date | null;
  stopReason: string | null;
  stoppingAt: Date | null;
  durationSeconds: number | null;
  cpuSeconds: number | null;
  peakMemoryMb: number | null;
  saveNotice: string | null;
  /** Names of the GameSession kind. */
  fullFolders: string[] | null;
  /** The save before a last save that may be incomplete, as long as that one is current. */
  earlierSave: { saveSlotId: string; versionId: string; savedAt: string } | null;
  /** A FailureReason of the GameSession kind, or one set by the recorder. */
  failureReason: string | null;
  /** When the session is stopped by a play limit of its player; null for none, and before it is ready. */
  playLimitEndsAt: Date | null;
  /** These two are from the session's spec. */
  stream: GameSessionSpec["stream"];
  maxDurationSeconds: number;
  /** Place in the queue; null unless the session waits there. */
  queue: QueueRow | null;
}

const columns = `
  s.id, s.status, g.slug AS "gameSlug", g.title AS "gameTitle", s.started_at AS "startedAt", s.ready_at AS "readyAt",
  s.expires_at AS "expiresAt", s.stop_reason AS "stopReason", s.stopping_at AS "stoppingAt", s.duration_seconds AS "durationSeconds",
  s.cpu_seconds AS "cpuSeconds", s.peak_memory_mb AS "peakMemoryMb", s.save_notice AS "saveNotice", s.failure_reason AS "failureReason",
  CASE WHEN s.is_play_limited THEN s.ready_at + make_interval(secs => (s.spec ->> 'maxDurationSeconds')::int) END AS "playLimitEndsAt",
  s.full_folders AS "fullFolders", CASE WHEN s.is_save_suspect THEN (
    SELECT json_build_object('saveSlotId', e.slot_id, 'versionId', e.id, 'savedAt', e.stored_at)
    FROM save_slots slot JOIN save_versions c ON c.slot_id = slot.id AND c.object_key = slot.object_key AND c.generation = slot.generation AND c.is_suspect
      JOIN save_versions e ON e.slot_id = slot.id AND e.object_key <> c.object_key AND e.kind <> 'conflict' AND e.stored_at < c.stored_at
    WHERE slot.id = s.slot_id AND c.game_session = s.id AND e.unreadable_at IS NULL AND NOT e.is_suspect
    ORDER BY e.stored_at DESC LIMIT 1) END AS "earlierSave",
  s.spec -> 'stream' AS stream, (s.spec ->> 'maxDurationSeconds')::int AS "maxDurationSeconds",
  CASE WHEN s.queue_number IS NOT NULL THEN (
    SELECT json_build_object('position', (SELECT count(*) FROM game_sessions earlier WHERE earlier.queue_number <= s.queue_number), 'offeredAt', s.offered_at,
      'ahead', (SELECT count(*) FROM game_sessions earlier WHERE earlier.queue_number < s.queue_number AND earlier.offered_at IS NULL),
      'seats', q.seats, 'ends', q.ends, 'playedSeconds', q.played_seconds, 'seated', q.seated, 'abandoned', q.abandoned)
    FROM game_queue q) END AS "queue"`;

const readableSession = `FROM game_sessions s JOIN games g ON g.id = s.game_id
  WHERE s.id = $1 AND s.user_id = $2 AND (s.ended_at IS NULL OR s.ended_at > now() - make_interval(secs => $3))`;

/** Returns the user's session; undefined if it does not exist or ended too long ago. */
export async function findGameSession(
  db: Queryable,
  id: string,
  userId: string,
): Promise<GameSessionRow | undefined> {
  const { rows } = await db.query<GameSessionRow>({
    name: "find-game-session",
    text: `SELECT ${columns} ${readableSession}`,
    values: [id, userId, limits.gameSession.endedReadableSeconds],
  });
  return rows[0];
}

/** Returns the same session with the database's time. */
export async function findDatedGameSession(
  db: Queryable,
  id: string,
  userId: string,
): Promise<(GameSessionRow & { now: Date }) | undefined> {
  const { rows } = await db.query<GameSessionRow & { now: Date }>({
    name: "find-dated-game-session",
    text: `SELECT ${columns}, now() AS now ${readableSession}`,
    values: [id, userId, limits.gameSession.endedReadableSeconds],
  });
  return rows[0];
}

/** Returns sessions of any user with the database's time. The caller has checked who may follow them. */
export async function listFollowedGameSessions(
  db: Queryable,
  ids: readonly string[],
): Promise<(GameSessionRow & { now: Date })[]> {
  const { rows } = await db.query<GameSessionRow & { now: Date }>({
    name: "read-followed-game-sessions",
    text: `SELECT ${columns}, now() AS now FROM game_sessions s JOIN games g ON g.id = s.game_id WHERE s.id = ANY ($1)`,
    values: [ids],
  });
  return rows;
}

/** Returns the user's sessions that have not ended, the newest first. */
export async function listActiveGameSessions(db: Queryable, userId: string): Promise<GameSessionRow[]> {
  const { rows } = await db.query<GameSessionRow>({
    name: "list-active-game-sessions",
    text: `SELECT ${columns} FROM game_sessions s JOIN games g ON g.id = s.game_id
      WHERE s.user_id = $1 AND s.status IN ('starting', 'running', 'stopping') ORDER BY s.started_at DESC`,
    values: [userId],
  });
  return rows;
}

/** The idle expiry after a keepalive. */
export interface Keepalive {
  expiresAt: Date;
  idleTimeoutSeconds: number;
}

/**
 * Sets the idle expiry to one timeout from now by the database's clock, never backwards. A session in the
 * queue has a shorter one. Returns undefined if the user has no such starting or running session. Only this
 * statement and the sweeper's decide whether a session is idle.
 */
export async function updateGameSessionExpiry(
  db: Queryable,
  id: string,
  userId: string,
): Promise<Keepalive | undefined> {
  const { rows } = await db.query<Keepalive>({
    name: "extend-game-session",
    text: `UPDATE game_sessions SET left_at = NULL,
        expires_at = GREATEST(expires_at, now() + make_interval(secs => CASE WHEN queue_number IS NULL THEN idle_timeout_seconds ELSE ${limits.queue.silentSeconds} END))
      WHERE id = $1 AND user_id = $2 AND status IN ('starting', 'running')
      RETURNING expires_at AS "expiresAt", idle_timeout_seconds AS "idleTimeoutSeconds"`,
    values: [id, userId],
  });
  return rows[0];
}

/**
 * Stores a player's new connection to the stream, and extends the idle expiry like a keepalive. Returns
 * undefined if the user has no such starting or running session.
 */
export async function updateStreamConnection(
  db: Queryable,
  id: string,
  userId: string,
  connection: string,
): Promise<Keepalive | undefined> {
  const { rows } = await db.query<Keepalive>({
    name: "connect-game-session",
    text: `UPDATE game_sessions SET stream_connection = $3, left_at = NULL,
        expires_at = GREATEST(expires_at, now() + make_interval(secs => idle_timeout_seconds))
      WHERE id = $1 AND user_id = $2 AND status IN ('starting', 'running')
      RETURNING expires_at AS "expiresAt", idle_timeout_seconds AS "idleTimeoutSeconds"`,
    values: [id, userId, connection],
  });
  return rows[0];
}

/**
 * Brings the idle expiry forward to at most `graceSeconds` from now, if this is the newest connection to the
 * stream, or if the session has had none yet, as in the queue. Returns the expiry; undefined if the user has
 * no such session.
 */
export async function updateGameSessionLeft(
  db: Queryable,
  { id, userId, connection }: { id: string; userId: string; connection: string },
  graceSeconds: number,
): Promise<Date | undefined> {
  const { rows } = await db.query<{ expiresAt: Date }>({
    name: "leave-game-session",
    text: `UPDATE game_sessions SET expires_at = LEAST(expires_at, now() + make_interval(secs => $4)),
        left_at = CASE WHEN status = 'starting' AND queue_number IS NULL THEN now() END
      WHERE id = $1 AND user_id = $2 AND status IN ('starting', 'running') AND (stream_connection IS NULL OR stream_connection = $3)
      RETURNING expires_at AS "expiresAt"`,
    values: [id, userId, connection, graceSeconds],
  });
  return rows[0]?.expiresAt;
}

/**
 * Sets the user's session to stopping. Returns false if it was already stopping, has ended, waits in the
 * queue or does not exist.
 */
export async function updateGameSessionStopRequested(
  db: Queryable,
  id: string,
  userId: string,
  reason: StopReason,
): Promise<boolean> {
  const { rowCount } = await db.query({
    name: "begin-stop",
    text: `UPDATE game_sessions SET status = 'stopping', stop_reason = $3, stopping_at = now()
      WHERE id = $1 AND user_id = $2 AND status IN ('starting', 'running') AND queue_number IS NULL`,
    values: [id, userId, reason],
  });
  return rowCount === 1;
}

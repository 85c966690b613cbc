import type { GameExit, StreamSummary } from "#contracts/crd/gameSession.ts";
import type { PublicStatus } from "#contracts/crd/sessionState.ts";
import type { StopReason, GameSessionSpec } from "#contracts/crd/gameSessionSpec.ts";
import { stopReasons } from "#contracts/crd/gameSessionReasons.ts";
import type { Queryable } from "../../stores/queryable.ts";

/** Resources that a session used. */
export interface ResourceUse {
  cpuMillicores: number;
  peakMemoryMb: number;
  durationSeconds: number;
}

/** A session's row as the recorder reads it. */
export interface RecordedGameSession {
  id: string;
  status: PublicStatus;
  slotId: string | null;
  gameId: string;
  /** Null until the session's object has been created. */
  crCreatedAt: Date | null;
  stopReason: StopReason | null;
  readyAt: Date | null;
  endedAt: Date | null;
  /** Null until the result is stored; the player may be free earlier. */
  recordedAt: Date | null;
  /** Null while the session owns its slot. */
  slotReleasedAt: Date | null;
  /** The database's time. */
  now: Date;
}

/** Returns any user's session; undefined if it does not exist. */
export async function findRecordedGameSession(
  db: Queryable,
  id: string,
): Promise<RecordedGameSession | undefined> {
  const { rows } = await db.query<RecordedGameSession>({
    name: "read-record",
    text: `SELECT id, status, slot_id AS "slotId", game_id AS "gameId", cr_created_at AS "crCreatedAt", stop_reason AS "stopReason",
        ready_at AS "readyAt", ended_at AS "endedAt", recorded_at AS "recordedAt", slot_released_at AS "slotReleasedAt", now() AS "now"
      FROM game_sessions WHERE id = $1`,
    values: [id],
  });
  return rows[0];
}

/** The state of a session whose result is not stored. */
export interface UnrecordedGameSession {
  id: string;
  status: PublicStatus;
  /** Whether the session's object has been created. */
  isCreated: boolean;
}

/** Returns all sessions whose result is not stored yet, without those in the queue. */
export async function listUnrecordedGameSessions(db: Queryable): Promise<UnrecordedGameSession[]> {
  const { rows } = await db.query<UnrecordedGameSession>({
    name: "list-unrecorded",
    text: `SELECT id, status, cr_created_at IS NOT NULL AS "isCreated" FROM game_sessions WHERE recorded_at IS NULL AND queue_number IS NULL`,
  });
  return rows;
}

/** A session whose object the cluster does not have yet. */
export interface UncreatedGameSession {
  id: string;
  spec: GameSessionSpec;
  ageSeconds: number;
}

/**
 * Locks the oldest starting session without an object that is older than `graceSeconds`, not in the queue and
 * not locked by others.
 */
export async function lockUncreatedGameSession(
  transaction: Queryable,
  graceSeconds: number,
): Promise<UncreatedGameSession | undefined> {
  const { rows } = await transaction.query<UncreatedGameSession>({
    name: "claim-uncreated",
    text: `SELECT id, spec, extract(epoch FROM now() - started_at)::float8 AS "ageSeconds" FROM game_sessions
      WHERE cr_created_at IS NULL AND status = 'starting' AND queue_number IS NULL AND started_at < now() - make_interval(secs => $1)
      ORDER BY started_at LIMIT 1 FOR UPDATE SKIP LOCKED`,
    values: [graceSeconds],
  });
  return rows[0];
}

/**
 * Locks the session's row and returns whether its object is noted as created. Waits for a relay that is
 * creating it.
 */
export async function lockWhetherCreated(transaction: Queryable, id: string): Promise<boolean> {
  const { rows } = await transaction.query<{ isCreated: boolean }>({
    name: "lock-whether-created",
    text: `SELECT cr_created_at IS NOT NULL AS "isCreated" FROM game_sessions WHERE id = $1 FOR UPDATE`,
    values: [id],
  });
  return rows[0]?.isCreated === true;
}

/** Records that the session's object exists, so that it no longer waits in the queue. */
export async function updateGameSessionCreated(db: Queryable, id: string): Promise<void> {
  await db.query({
    name: "mark-created",
    text: "UPDATE game_sessions SET cr_created_at = now(), queue_number = NULL WHERE id = $1 AND cr_created_at IS NULL",
    values: [id],
  });
}

/**
 * Returns SQL that clamps a time from the operator's clock, which may be minutes off, to between the launch
 * and now.
 */
function withinSession(parameter: string): string {
  return `CASE WHEN ${parameter}::timestamptz IS NOT NULL THEN LEAST(GREATEST(${parameter}::timestamptz, started_at), now()) END`;
}

/**
 * Sets a starting session to running, which starts its idle timeout, unless its page has closed. Returns
 * false if it was not starting.
 */
export async function updateGameSessionRunning(
  db: Queryable,
  id: string,
  readyAt: string,
  node: string | undefined,
): Promise<boolean> {
  const { rowCount } = await db.query({
    name: "record-ready",
    text: `
      WITH ready AS (
        UPDATE game_sessions SET status = 'running', ready_at = ${withinSession("$2")}, node = $3,
          expires_at = GREATEST(expires_at, now() + CASE WHEN left_at IS NULL THEN make_interval(secs => idle_timeout_seconds) ELSE '0' END)
        WHERE id = $1 AND status = 'starting' RETURNING slot_id, ready_at
      ), played AS (
        UPDATE save_slots SET last_played_at = ready.ready_at FROM ready WHERE save_slots.id = ready.slot_id
      )
      SELECT 1 FROM ready`,
    values: [id, readyAt, node ?? null],
  });
  return rowCount === 1;
}

/**
 * Sets a session to stopping that the cluster, not its player, is stopping. No-op if it was already stopping.
 */
export async function updateGameSessionStopping(
  db: Queryable,
  id: string,
  reason: StopReason,
  readyAt: string | undefined,
): Promise<void> {
  await db.query({
    name: "record-stopping",
    text: `UPDATE game_sessions SET status = 'stopping', stop_reason = $2, stopping_at = now(), ready_at = COALESCE(ready_at, ${withinSession("$3")})
      WHERE id = $1 AND status IN ('starting', 'running')`,
    values: [id, reason, readyAt ?? null],
  });
}

/** Result of a search for idle sessions. */
export interface IdleGameSessions {
  /** Sessions whose idle timeout has passed: running ones, and starting ones whose page has closed. */
  idle: { id: string; expiresAt: Date }[];
  /** Seconds since the previous search. */
  gapSeconds: number;
}

const canBeIdle = "(status = 'running' OR status = 'starting' AND left_at IS NOT NULL)";

/**
 * Finds idle sessions and records the time of the search. If the previous one was more than `maxGapSeconds`
 * ago, keepalives may have been lost since, because an unavailable database stops the sweeper too. It then
 * finds none, and all sessions restart their idle timeout. This is a single statement, so no frozen process
 * can stop halfway.
 */
export async function findIdleGameSessions(db: Queryable, maxGapSeconds: number): Promise<IdleGameSessions> {
  const { rows } = await db.query<{ gapSeconds: number; id: string | null; expiresAt: Date | null }>({
    name: "find-idle",
    text: `
      WITH look AS (
        UPDATE idle_sweeps SET swept_at = now() FROM (SELECT id, swept_at FROM idle_sweeps FOR UPDATE) last WHERE idle_sweeps.id = last.id
        RETURNING extract(epoch FROM now() - last.swept_at)::float8 AS gap
      ), restarted AS (
        UPDATE game_sessions SET expires_at = GREATEST(expires_at, now() + make_interval(secs => idle_timeout_seconds))
        WHERE ${canBeIdle} AND (SELECT gap > $1 FROM look)
      )
      SELECT gap AS "gapSeconds", s.id, s.expires_at AS "expiresAt"
      FROM look LEFT JOIN game_sessions s ON gap <= $1 AND ${canBeIdle} AND s.expires_at < now()`,
    values: [maxGapSeconds],
  });
  const idle = rows.flatMap(({ id, expiresAt }) =>
    id === null || expiresAt === null ? [] : [{ id, expiresAt }],
  );
  return { idle, gapSeconds: rows[0]?.gapSeconds ?? 0 };
}

/** Adopts the expiry of a keepalive that was not stored in the database. */
export async function updateGameSessionKeptAlive(db: Queryable, id: string, until: Date): Promise<void> {
  await db.query({
    name: "take-keepalive",
    text: "UPDATE game_sessions SET expires_at = GREATEST(expires_at, $2) WHERE id = $1 AND status IN ('starting', 'running')",
    values: [id, until],
  });
}

/**
 * Sets those of the sessions that are still idle to stopping, and returns their ids. A launch whose page has
 * closed counts as cancelled. A concurrent keepalive takes effect entirely before or after this.
 */
export async function updateIdleGameSessionsStopping(
  db: Queryable,
  ids: readonly string[],
): Promise<string[]> {
  const { rows } = await db.query<{ id: string }>({
    name: "begin-idle-stops",
    text: `UPDATE game_sessions SET status = 'stopping', stop_reason = CASE status WHEN 'running' THEN $2 ELSE $3 END, stopping_at = now()
      WHERE id = ANY($1) AND ${canBeIdle} AND expires_at < now() RETURNING id`,
    values: [ids, stopReasons.idleTimeout, stopReasons.userRequested],
  });
  return rows.map(({ id }) => id);
}

/**
 * Sets every session that has reached its maximum duration to stopping, and returns their ids. The operator
 * enforces the duration too, but only from when it saw the session ready: after a change of leader it does
 * not know how long the session had been played.
 */
export async function updateOverlongGameSessionsStopping(db: Queryable): Promise<string[]> {
  const { rows } = await db.query<{ id: string }>({
    name: "begin-overlong-stops",
    text: `UPDATE game_sessions SET status = 'stopping', stop_reason = $1, stopping_at = now()
      WHERE status = 'running' AND ready_at + make_interval(secs => (spec ->> 'maxDurationSeconds')::int) < now() RETURNING id`,
    values: [stopReasons.maxDuration],
  });
  return rows.map(({ id }) => id);
}

/** How a session ended. */
export interface GameSessionEnd {
  status: "stopped" | "error";
  /** Used if no reason was stored before. */
  stopReason: StopReason;
  failure: { reason: string; message: string } | undefined;
  durationSeconds: number;
  cpuSeconds: number;
  peakMemoryMb: number;
  /** Whether the last save may be incomplete, because the game was killed. */
  isSaveSuspect?: boolean;
  /** Folders of the game that were full at some time, by their names in the GameSession kind. */
  fullFolders?: readonly string[];
  exit?: GameExit | undefined;
  /** What ended the game's last process, by its name in the GameSession kind. */
  endedBy?: string | undefined;
  streamSummary?: StreamSummary | undefined;
  /** Whether no further save can arrive, so the session releases its slot. */
  isSlotReleased: boolean;
}

/**
 * Stores a session's end and result. Returns false if that was done before, so that what follows happens
 * exactly once. A player who was freed earlier keeps the status that they saw.
 */
export async function updateGameSessionEnded(
  db: Queryable,
  id: string,
  end: GameSessionEnd,
  times: { readyAt: string | undefined; endedAt: string | undefined },
  node: string | undefined,
): Promise<boolean> {
  const { rowCount } = await db.query({
    name: "record-end",
    text: `UPDATE game_sessions SET status = CASE WHEN ended_at IS NULL THEN $2::game_session_status ELSE status END,
        stop_reason = COALESCE(stop_reason, $3), failure_reason = $4,
        failure_message = $5, duration_seconds = $6, cpu_seconds = $7, peak_memory_mb = $8,
        ready_at = COALESCE(ready_at, ${withinSession("$9")}),
        stopping_at = COALESCE(stopping_at, now()), ended_at = COALESCE(ended_at, ${withinSession("$10")}, now()), recorded_at = now(), node = COALESCE($11, node),
        slot_released_at = CASE WHEN $12 THEN COALESCE(slot_released_at, now()) ELSE slot_released_at END,
        is_save_suspect = $13, full_folders = $14, exit_code = $15, exit_signal = $16, ended_by = $17, stream_summary = $18
      WHERE id = $1 AND recorded_at IS NULL`,
    values: [
      id,
      end.status,
      end.stopReason,
      end.failure?.reason ?? null,
      end.failure?.message ?? null,
      end.durationSeconds,
      end.cpuSeconds,
      end.peakMemoryMb,
      times.readyAt ?? null,
      times.endedAt ?? null,
      node ?? null,
      end.isSlotReleased,
      end.isSaveSuspect ?? false,
      end.fullFolders ?? [],
      end.exit?.code ?? null,
      end.exit?.signal ?? null,
      end.endedBy ?? null,
      end.streamSummary === undefined ? null : JSON.stringify(end.streamSummary),
    ],
  });
  return rowCount === 1;
}

/** An ended session as its game's partner may see it: without its player. */
interface EndedRun {
  gameVersionId: string | null;
  startedAt: Date;
  readyAt: Date | null;
  endedAt: Date;
  playSeconds: number;
}

/** Returns an ended session; undefined if it has not ended. */
export async function findEndedRun(db: Queryable, id: string): Promise<EndedRun | undefined> {
  const { rows } = await db.query<EndedRun>({
    name: "find-ended-run",
    text: `SELECT version_id AS "gameVersionId", started_at AS "startedAt", ready_at AS "readyAt", coalesce(ended_at, now()) AS "endedAt",
        coalesce(duration_seconds, 0) AS "playSeconds" FROM game_sessions WHERE id = $1 AND recorded_at IS NOT NULL`,
    values: [id],
  });
  return rows[0];
}

/** Stores the message about the last save. */
export async function updateSaveNotice(db: Queryable, id: string, notice: string): Promise<void> {
  await db.query({
    name: "note-save",
    text: "UPDATE game_sessions SET save_notice = $2 WHERE id = $1 AND save_notice IS DISTINCT FROM $2",
    values: [id, notice],
  });
}

/**
 * Adds a session's usage to the game's moving averages with weight `newestWeight` (0 to 1). The first usage
 * becomes the average.
 */
export async function updateResourceProfile(
  db: Queryable,
  gameId: string,
  usage: ResourceUse,
  newestWeight: number,
): Promise<void> {
  await db.query({
    name: "average-in",
    text: `UPDATE games SET profile_sessions = profile_sessions + 1,
        profile_cpu_millicores = COALESCE(profile_cpu_millicores * (1 - $2::float8) + $3 * $2::float8, $3),
        profile_peak_memory_mb = COALESCE(profile_peak_memory_mb * (1 - $2::float8) + $4 * $2::float8, $4),
        profile_duration_seconds = COALESCE(profile_duration_seconds * (1 - $2::float8) + $5 * $2::float8, $5)
      WHERE id = $1`,
    values: [gameId, newestWeight, usage.cpuMillicores, usage.peakMemoryMb, usage.durationSeconds],
  });
}

/**
 * Raises the game's highest memory and the minimum limit of its next session. Neither is ever lowered;
 * undefined leaves a value unchanged.
 */
export async function raiseGameMemory(
  db: Queryable,
  gameId: string,
  { highestMb, floorMb }: { highestMb: number | undefined; floorMb: number | undefined },
): Promise<void> {
  await db.query({
    name: "raise-memory",
    text: `UPDATE games SET profile_highest_memory_mb = GREATEST(profile_highest_memory_mb, $2::float8),
        profile_memory_floor_mb = GREATEST(profile_memory_floor_mb, $3::int)
      WHERE id = $1 AND ($2::float8 > COALESCE(profile_highest_memory_mb, 0) OR $3::int > COALESCE(profile_memory_floor_mb, 0))`,
    values: [gameId, highestMb ?? null, floorMb ?? null],
  });
}

/**
 * Uncounts the session's launch. From here on, launches of the same game wait for the transaction's end, so
 * it must not wait for anything.
 */
export async function uncountLaunch(transaction: Queryable, id: string): Promise<void> {
  await transaction.query({
    name: "uncount-launch",
    text: `UPDATE game_launch_days SET launches = launches - 1 FROM game_sessions s
      WHERE s.id = $1 AND game_launch_days.game_id = s.game_id AND day = (COALESCE(s.queued_at, s.started_at) AT TIME ZONE 'UTC')::date AND launches > 0`,
    values: [id],
  });
}

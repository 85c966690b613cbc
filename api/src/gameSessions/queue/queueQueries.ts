import type { GameSessionSpec, StopReason } from "#contracts/crd/gameSessionSpec.ts";
import { limits } from "#contracts/limits.ts";
import { isVisibleTo } from "../../games/gameVisibility.ts";
import type { Queryable } from "../../stores/queryable.ts";

const { silentSeconds, confirmSeconds } = limits.queue;

/** The queue as admins see it. */
export interface QueueState {
  length: number;
  /** 0 if the queue is empty. */
  oldestWaitSeconds: number;
}

/** Returns the queue's length and its oldest wait. */
export async function findQueueState(db: Queryable): Promise<QueueState> {
  const { rows } = await db.query<QueueState>({
    name: "find-queue-state",
    text: `SELECT count(*)::int AS length, COALESCE(extract(epoch FROM now() - min(queued_at)), 0)::float8 AS "oldestWaitSeconds"
      FROM game_sessions WHERE queue_number IS NOT NULL`,
  });
  return rows[0] ?? { length: 0, oldestWaitSeconds: 0 };
}

/** A session of the queue, or one that has left it and has not ended. */
export interface QueuedGameSession {
  id: string;
  isQueued: boolean;
  hasSeat: boolean;
  /** Whether its player has still an account that can play, and sees the game. */
  mayPlay: boolean;
  spec: GameSessionSpec;
  /** The database's time. */
  now: Date;
}

/** Conditions for a session `s` of a user `u` in a game `g`. A launch checked both, maybe hours ago. */
const isDisabled = "u.disabled_at IS NOT NULL";
const mayPlay = `(${isVisibleTo("s.user_id")} AND NOT ${isDisabled})`;

/** Returns the user's session if it has not ended. */
export async function findQueuedGameSession(
  transaction: Queryable,
  id: string,
  userId: string,
): Promise<QueuedGameSession | undefined> {
  const { rows } = await transaction.query<QueuedGameSession>({
    name: "find-queued",
    text: `SELECT s.id, s.queue_number IS NOT NULL AS "isQueued", s.offered_at IS NOT NULL AS "hasSeat", ${mayPlay} AS "mayPlay", s.spec, now() AS now
      FROM game_sessions s JOIN games g ON g.id = s.game_id JOIN users u ON u.id = s.user_id
      WHERE s.id = $1 AND s.user_id = $2 AND s.status IN ('starting', 'running', 'stopping')`,
    values: [id, userId],
  });
  return rows[0];
}

/**
 * Takes the session out of the queue with its final spec: it starts now. The launch lock must be held, as for
 * all changes to the queue.
 */
export async function updateQueuedStarted(
  transaction: Queryable,
  id: string,
  spec: GameSessionSpec,
): Promise<void> {
  await transaction.query({
    name: "start-queued",
    text: `UPDATE game_sessions SET queue_number = NULL, started_at = now(), expires_at = NULL, spec = $2
      WHERE id = $1 AND queue_number IS NOT NULL`,
    values: [id, JSON.stringify(spec)],
  });
}

/** Holds a seat for these sessions from now on, or no longer. */
export async function updateQueuedOffered(
  transaction: Queryable,
  ids: readonly string[],
  hasSeat: boolean,
): Promise<void> {
  if (ids.length === 0) return;
  await transaction.query({
    name: "offer-seats",
    text: `UPDATE game_sessions SET offered_at = CASE WHEN $2::boolean THEN now() END
      WHERE id = ANY ($1) AND queue_number IS NOT NULL`,
    values: [ids, hasSeat],
  });
}

/**
 * Records that the queue is served. If the last time was more than `gapSeconds` ago, keepalives and
 * confirmations may have been lost since, and all of them get their whole time again.
 */
export async function updateQueueServed(transaction: Queryable, gapSeconds: number): Promise<void> {
  await transaction.query({
    name: "serve-queue",
    text: `
      WITH served AS (
        UPDATE game_queue SET served_at = now() FROM (SELECT id, served_at FROM game_queue) last WHERE game_queue.id = last.id
        RETURNING last.served_at < now() - make_interval(secs => $1) AS "isLate"
      )
      UPDATE game_sessions SET expires_at = GREATEST(expires_at, now() + make_interval(secs => ${silentSeconds})),
        offered_at = CASE WHEN offered_at IS NOT NULL THEN now() END
      WHERE queue_number IS NOT NULL AND (SELECT "isLate" FROM served)`,
    values: [gapSeconds],
  });
}

/** Why a queued session can wait no longer. */
export type QueueLapse = "silent" | "unconfirmed" | "unavailable" | "disabled";

/**
 * Returns sessions of the queue whose player is silent, has not confirmed a seat in time, no longer sees the
 * game or has a disabled account.
 */
export async function listLapsedQueued(transaction: Queryable): Promise<{ id: string; lapse: QueueLapse }[]> {
  const { rows } = await transaction.query<{ id: string; lapse: QueueLapse | null }>({
    name: "list-lapsed-queued",
    text: `SELECT id, lapse FROM (
        SELECT s.id, CASE WHEN ${isDisabled} THEN 'disabled' WHEN NOT ${isVisibleTo("s.user_id")} THEN 'unavailable'
          WHEN s.offered_at < now() - make_interval(secs => ${confirmSeconds}) THEN 'unconfirmed'
          WHEN s.expires_at < now() THEN 'silent' END AS lapse
        FROM game_sessions s JOIN games g ON g.id = s.game_id JOIN users u ON u.id = s.user_id WHERE s.queue_number IS NOT NULL) queued
      WHERE lapse IS NOT NULL`,
  });
  return rows.flatMap(({ id, lapse }) => (lapse === null ? [] : [{ id, lapse }]));
}

/**
 * Ends these sessions of the queue, which never had an object: removes slots that were created for them, and
 * uncounts their launches. Returns the ids of those that were in the queue.
 */
export async function endQueued(
  transaction: Queryable,
  ids: readonly string[],
  {
    status,
    stopReason,
    failureReason,
  }: { status: "stopped" | "error"; stopReason: StopReason; failureReason?: string },
): Promise<string[]> {
  if (ids.length === 0) return [];
  const { rows } = await transaction.query<{ id: string }>({
    name: "end-queued",
    text: `
      WITH ended AS (
        UPDATE game_sessions SET status = $2::game_session_status, stop_reason = $3, failure_reason = $4, stopping_at = now(), ended_at = now(),
          recorded_at = now(), slot_released_at = now(), queue_number = NULL, duration_seconds = 0, cpu_seconds = 0, peak_memory_mb = 0
        WHERE id = ANY ($1) AND queue_number IS NOT NULL AND status = 'starting' RETURNING id, game_id, slot_id, queued_at
      ), uncounted AS (
        UPDATE game_launch_days d SET launches = GREATEST(0, d.launches - e.launches)
        FROM (SELECT game_id, (queued_at AT TIME ZONE 'UTC')::date AS day, count(*)::int AS launches FROM ended GROUP BY 1, 2) e
        WHERE d.game_id = e.game_id AND d.day = e.day
      )
      SELECT id FROM ended`,
    values: [ids, status, stopReason, failureReason ?? null],
  });
  const ended = rows.map(({ id }) => id);
  await transaction.query({
    name: "remove-slots-of-queued",
    text: `DELETE FROM save_slots USING game_sessions s
      WHERE s.id = ANY ($1) AND save_slots.id = s.slot_id AND save_slots.object_key IS NULL AND save_slots.created_at >= s.queued_at
        AND NOT EXISTS (SELECT FROM game_sessions other WHERE other.slot_id = save_slots.id AND other.id <> s.id)`,
    values: [ended],
  });
  return ended;
}

/** How much of the past waits are estimated from, and how often it is measured. */
const measuredSeconds = 2 * 3600;
const measuringSeconds = 30;

/**
 * Measures what waits are estimated from, at most every half minute. Only sessions that had an object count
 * as played.
 */
export async function measureQueue(db: Queryable, seats: number): Promise<void> {
  await db.query({
    name: "measure-queue",
    text: `
      WITH recent AS (
        SELECT recorded_at, started_at, queued_at, cr_created_at IS NOT NULL AS was_created FROM game_sessions
        WHERE queue_number IS NULL AND (recorded_at IS NULL OR recorded_at > now() - make_interval(secs => ${measuredSeconds}))
      )
      UPDATE game_queue SET measured_at = now(), seats = $1, ends = m.ends, played_seconds = m.played_seconds, seated = m.seated, abandoned = m.abandoned
      FROM (
        SELECT count(*) FILTER (WHERE was_created AND recorded_at IS NOT NULL)::int AS ends,
          COALESCE(sum(extract(epoch FROM COALESCE(recorded_at, now()) - GREATEST(started_at, now() - make_interval(secs => ${measuredSeconds}))))
            FILTER (WHERE was_created), 0)::float8 AS played_seconds,
          count(*) FILTER (WHERE was_created AND queued_at IS NOT NULL)::int AS seated,
          count(*) FILTER (WHERE NOT was_created AND queued_at IS NOT NULL AND recorded_at IS NOT NULL)::int AS abandoned
        FROM recent) m
      WHERE measured_at IS NULL OR measured_at < now() - make_interval(secs => ${measuringSeconds}) OR seats <> $1`,
    values: [seats],
  });
}

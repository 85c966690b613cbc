import type { GameSessionSpec, SessionResources } from "#contracts/crd/gameSession.ts";
import type { GameNeeds } from "./resourceProfile.ts";
import type { Slot } from "./slotChoice.ts";
import type { Queryable } from "../stores/queryable.ts";

/** Everything that decides whether and how a game is launched. */
export interface LaunchContext extends GameNeeds {
  gameId: string;
  versionId: string;
  sha256: string;
  launcher: string;
  engineDir: string;
  network: "none" | "internet";
  /** Null for the default. */
  saveLimitMb: number | null;
  /** The user's session that has not ended. */
  activeSessionId: string | null;
  /** Sessions of all users that the cluster has not ended yet: their players may be free already, their places are not. */
  activeSessions: number;
  /** Those among them whose objects the cluster may not have yet, at most a hundred. */
  unseenSessions: UnseenSession[];
  slots: Slot[];
  /** As the player's account keeps it; null when they never chose. */
  keptQuality: unknown;
  /** By the database's clock, which rules a session's expiry. */
  now: Date;
}

/** What a session that was just stored asks for; sessions of the release before shares of GPUs name none. */
export interface UnseenSession {
  id: string;
  resources: Omit<SessionResources, "gpuShare"> & { gpuShare?: number };
  saveVolumeBytes: number;
}

/** A session about to be stored. */
export interface NewGameSession {
  id: string;
  userId: string;
  gameId: string;
  versionId: string;
  slotId: string;
  /** Set when the slot is made with the session. */
  newSlotNumber: number | undefined;
  spec: GameSessionSpec;
}

/**
 * Returns what decides about a launch; undefined when the catalogue has no such game. With `holdGame` a share lock holds back a new version
 * and a deletion until the session, which pins this version, is stored.
 */
export async function findLaunchContext(db: Queryable, slug: string, userId: string, { holdGame = false } = {}): Promise<LaunchContext | undefined> {
  const { rows } = await db.query<LaunchContext>({
    name: holdGame ? "launch-world" : "launch-check",
    text: `
      SELECT now() AS now, g.id AS "gameId", v.id AS "versionId", v.sha256, g.launcher, g.engine_dir AS "engineDir",
        g.network, g.save_limit_mb AS "saveLimitMb",
        json_build_object('memoryMb', g.memory_mb, 'cpuMillicores', g.cpu_millicores, 'gpuShare', g.gpu_share,
          'pictureWidth', g.picture_width, 'pictureHeight', g.picture_height) AS "declared",
        json_build_object('cpuMillicores', g.profile_cpu_millicores, 'peakMemoryMb', g.profile_peak_memory_mb,
          'highestMemoryMb', g.profile_highest_memory_mb, 'memoryFloorMb', g.profile_memory_floor_mb) AS "profile",
        (SELECT stream_quality FROM users WHERE id = $2) AS "keptQuality",
        (SELECT id FROM game_sessions WHERE user_id = $2 AND status IN ('starting', 'running', 'stopping')) AS "activeSessionId",
        (SELECT count(*)::int FROM game_sessions WHERE recorded_at IS NULL) AS "activeSessions",
        (SELECT coalesce(json_agg(json_build_object('id', n.id, 'resources', n.spec -> 'resources', 'saveVolumeBytes', n.spec -> 'saveVolumeBytes')), '[]')
          FROM (SELECT id, spec FROM game_sessions WHERE cr_created_at IS NULL AND status = 'starting' ORDER BY started_at DESC LIMIT 100) n) AS "unseenSessions",
        (SELECT coalesce(json_agg(json_build_object(
            'id', s.id, 'number', s.number, 'objectKey', s.object_key, 'sha256', s.sha256, 'generation', s.generation,
            'bytes', s.bytes, 'unpackedBytes', s.unpacked_bytes, 'isPending', EXISTS (SELECT FROM game_sessions o WHERE o.slot_id = s.id AND o.slot_released_at IS NULL),
            'isUnreadable', EXISTS (SELECT FROM save_versions u WHERE u.slot_id = s.id AND u.object_key = s.object_key AND u.unreadable_at IS NOT NULL)) ORDER BY s.last_played_at DESC, s.number), '[]')
          FROM save_slots s WHERE s.user_id = $2 AND s.game_id = g.id) AS "slots"
      FROM games g JOIN game_versions v ON v.id = g.current_version_id
      WHERE g.slug = $1 AND g.status = 'active' AND g.deleted_at IS NULL
      ${holdGame ? "FOR SHARE OF g" : ""}`,
    values: [slug, userId],
  });
  return rows[0];
}

/**
 * Stores the session and its slot, when that is new, and counts the launch; the session owns the slot from then on. Returns false when the
 * user has an active session after all, or when a session owns the slot, or somebody has moved it since it was read.
 */
export async function insertGameSession(transaction: Queryable, session: NewGameSession): Promise<boolean> {
  const { rowCount } = await transaction.query({
    name: "insert-game-session",
    text: `
      WITH new_slot AS (
        INSERT INTO save_slots (id, user_id, game_id, number, label)
        SELECT $5, $2, $3, $7::smallint, 'New playthrough' WHERE $7 IS NOT NULL
      ), known_slot AS (
        SELECT id FROM save_slots WHERE id = $5 AND generation = ($6::jsonb -> 'saveSlot' ->> 'generation')::int FOR KEY SHARE
      ), launch_day AS (
        INSERT INTO game_launch_days (game_id, day, launches) VALUES ($3, (now() AT TIME ZONE 'UTC')::date, 1)
        ON CONFLICT (game_id, day) DO UPDATE SET launches = game_launch_days.launches + 1
      )
      INSERT INTO game_sessions (id, cr_name, user_id, game_id, version_id, slot_id, spec, idle_timeout_seconds)
      SELECT $1, $1, $2, $3, $4, $5, $6::jsonb, ($6::jsonb ->> 'idleTimeoutSeconds')::int
      WHERE $7 IS NOT NULL OR EXISTS (SELECT FROM known_slot)
      ON CONFLICT DO NOTHING`,
    values: [
      session.id, session.userId, session.gameId, session.versionId, session.slotId, JSON.stringify(session.spec),
      session.newSlotNumber ?? null,
    ],
  });
  return rowCount === 1;
}

/** Whether the user has a session that has not ended. */
export async function hasActiveGameSession(transaction: Queryable, userId: string): Promise<boolean> {
  const { rowCount } = await transaction.query(
    "SELECT FROM game_sessions WHERE user_id = $1 AND status IN ('starting', 'running', 'stopping')", [userId],
  );
  return rowCount !== 0;
}

import type { SessionResources, GameSessionSpec } from "#contracts/crd/gameSessionSpec.ts";
import type { Queryable } from "../../stores/queryable.ts";
import type { DeclaredResources } from "../../games/siteResources.ts";

/** A save slot that is in use. */
export interface Slot {
  id: string;
  number: number;
  /** Stored save; both are null until there is one. */
  objectKey: string | null;
  sha256: string | null;
  generation: number;
  /** Size of the stored save, packed. */
  bytes: number | null;
  /** What the save's files take in memory; null for saves of a release that did not count it. */
  unpackedBytes: number | null;
  /** Whether a session owns the slot: its last save has not come yet. */
  isPending: boolean;
  /** Whether the stored save was found missing or damaged. */
  isUnreadable: boolean;
}

/** What a game's sessions have used; each figure is null until a session has told it. */
export interface ResourceProfile {
  /** Moving averages. */
  cpuMillicores: number | null;
  peakMemoryMb: number | null;
  /** The highest peak of any session. */
  highestMemoryMb: number | null;
  /** What the next session may use at least, since one ran out of memory. */
  memoryFloorMb: number | null;
}

/** What is known of a game's needs: what its partner declares, and what its sessions have used. */
export interface GameNeeds {
  declared: DeclaredResources;
  profile: ResourceProfile;
}

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
  /**
   * Sessions of all users that the cluster has not ended yet: their players may be free already, their places
   * are not.
   */
  activeSessions: number;
  /** Those among them whose objects the cluster may not have yet, at most a hundred. */
  unseenSessions: UnseenSession[];
  slots: Slot[];
  /** As the player's account keeps it; null when they never chose. */
  keptQuality: unknown;
  /** By the database's clock, which rules a session's expiry. */
  now: Date;
}

/** What a session that was just stored asks for. */
export interface UnseenSession {
  id: string;
  resources: SessionResources;
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

/** What one launch reads, beside what is the same for all of them. */
type FoundGame = Omit<LaunchContext, keyof FoundForAll> & { number: number };
type FoundForAll = Pick<LaunchContext, "now" | "activeSessions" | "unseenSessions">;

/**
 * Returns what decides about each launch, in their order; undefined for a game that the catalogue does not
 * have. With `isToStore` a share lock holds back new versions and deletions until the sessions, which pin
 * these versions, are stored. Only then it returns the sessions that the cluster may not have yet, which is
 * the larger part of the work. A check without them merely lets a launch pass that is refused when it is to
 * be stored.
 */
export async function findLaunchContexts(
  db: Queryable,
  asked: readonly { userId: string; launch: { gameSlug: string } }[],
  { isToStore = false } = {},
): Promise<(LaunchContext | undefined)[]> {
  const {
    rows: [row],
  } = await db.query<FoundForAll & { games: FoundGame[] }>({
    name: isToStore ? "launch-world" : "launch-check",
    text: `
      WITH asked AS (SELECT * FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS a (slug, user_id, number)),
      found AS (
        SELECT a.number, g.id AS "gameId", v.id AS "versionId", v.sha256, g.launcher, g.engine_dir AS "engineDir",
          g.network, g.save_limit_mb AS "saveLimitMb",
          json_build_object('memoryMb', g.memory_mb, 'cpuMillicores', g.cpu_millicores, 'gpuShare', g.gpu_share,
            'pictureWidth', g.picture_width, 'pictureHeight', g.picture_height) AS "declared",
          json_build_object('cpuMillicores', g.profile_cpu_millicores, 'peakMemoryMb', g.profile_peak_memory_mb,
            'highestMemoryMb', g.profile_highest_memory_mb, 'memoryFloorMb', g.profile_memory_floor_mb) AS "profile",
          (SELECT stream_quality FROM users WHERE id = a.user_id) AS "keptQuality",
          (SELECT id FROM game_sessions WHERE user_id = a.user_id AND status IN ('starting', 'running', 'stopping')) AS "activeSessionId",
          (SELECT coalesce(json_agg(json_build_object(
              'id', s.id, 'number', s.number, 'objectKey', s.object_key, 'sha256', s.sha256, 'generation', s.generation,
              'bytes', s.bytes, 'unpackedBytes', s.unpacked_bytes, 'isPending', EXISTS (SELECT FROM game_sessions o WHERE o.slot_id = s.id AND o.slot_released_at IS NULL),
              'isUnreadable', EXISTS (SELECT FROM save_versions u WHERE u.slot_id = s.id AND u.object_key = s.object_key AND u.unreadable_at IS NOT NULL)) ORDER BY s.last_played_at DESC, s.number), '[]')
            FROM save_slots s WHERE s.user_id = a.user_id AND s.game_id = g.id) AS "slots"
        FROM asked a JOIN games g ON g.slug = a.slug JOIN game_versions v ON v.id = g.current_version_id
        WHERE g.status = 'active' AND g.deleted_at IS NULL
        ${isToStore ? "ORDER BY g.id FOR SHARE OF g" : ""}
      )
      SELECT now() AS now, (SELECT count(*)::int FROM game_sessions WHERE recorded_at IS NULL) AS "activeSessions", ${isToStore ? unseenSessions : "'[]'::json"} AS "unseenSessions",
        (SELECT coalesce(json_agg(found), '[]') FROM found) AS games`,
    values: [asked.map(({ launch }) => launch.gameSlug), asked.map(({ userId }) => userId)],
  });
  if (row === undefined) throw new Error("The database returned nothing about launches.");
  const { games, ...forAll } = row;
  const byNumber = new Map(games.map(({ number, ...game }) => [number, { ...game, ...forAll }]));
  return asked.map((_, index) => byNumber.get(index + 1));
}

const unseenSessions = `
  (SELECT coalesce(json_agg(json_build_object('id', n.id, 'resources', n.spec -> 'resources', 'saveVolumeBytes', n.spec -> 'saveVolumeBytes')), '[]')
    FROM (SELECT id, spec FROM game_sessions WHERE cr_created_at IS NULL AND status = 'starting' ORDER BY started_at DESC LIMIT 100) n)`;

/**
 * Stores sessions of different players with their slots, when those are new, and counts the launches; each
 * session owns its slot from then on. Returns false when a user has an active session after all, when a
 * session owns a slot, or when a slot was moved since it was read: the transaction has to be rolled back
 * then.
 */
export async function insertGameSessions(
  transaction: Queryable,
  sessions: readonly NewGameSession[],
): Promise<boolean> {
  const { rowCount } = await transaction.query({
    name: "insert-game-session",
    text: `
      WITH launched AS (
        SELECT * FROM jsonb_to_recordset($1::jsonb)
          AS l ("id" text, "userId" text, "gameId" text, "versionId" text, "slotId" text, "newSlotNumber" smallint, "spec" jsonb)
      ), new_slots AS (
        INSERT INTO save_slots (id, user_id, game_id, number, label)
        SELECT "slotId", "userId", "gameId", "newSlotNumber", 'New playthrough' FROM launched WHERE "newSlotNumber" IS NOT NULL
      ), known_slots AS (
        SELECT s.id FROM save_slots s JOIN launched l ON l."slotId" = s.id
        WHERE s.generation = (l.spec -> 'saveSlot' ->> 'generation')::int FOR KEY SHARE OF s
      ), launch_days AS (
        INSERT INTO game_launch_days (game_id, day, launches)
        SELECT "gameId", (now() AT TIME ZONE 'UTC')::date, count(*) FROM launched GROUP BY "gameId" ORDER BY "gameId"
        ON CONFLICT (game_id, day) DO UPDATE SET launches = game_launch_days.launches + excluded.launches
      )
      INSERT INTO game_sessions (id, cr_name, user_id, game_id, version_id, slot_id, spec, idle_timeout_seconds)
      SELECT id, id, "userId", "gameId", "versionId", "slotId", spec, (spec ->> 'idleTimeoutSeconds')::int FROM launched
      WHERE "newSlotNumber" IS NOT NULL OR "slotId" IN (SELECT id FROM known_slots)
      ON CONFLICT DO NOTHING`,
    values: [JSON.stringify(sessions)],
  });
  return rowCount === sessions.length;
}

/** Whether the user has a session that has not ended. */
export async function hasActiveGameSession(transaction: Queryable, userId: string): Promise<boolean> {
  const { rowCount } = await transaction.query(
    "SELECT FROM game_sessions WHERE user_id = $1 AND status IN ('starting', 'running', 'stopping')",
    [userId],
  );
  return rowCount !== 0;
}

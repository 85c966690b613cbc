import type { SessionResources, GameSessionSpec } from "#contracts/crd/gameSessionSpec.ts";
import { limits } from "#contracts/limits.ts";
import type { Queryable } from "../../stores/queryable.ts";
import { type GroupPlayLimits, groupPlayLimitsOf } from "../playLimits/playLimitQueries.ts";
import { openChannelsOf } from "../../games/gameVisibility.ts";
import type { DeclaredResources } from "../../games/siteResources.ts";

/** A save slot that contains a playthrough. */
export interface Slot {
  id: string;
  number: number;
  /** The stored save; both fields are null until there is one. */
  objectKey: string | null;
  sha256: string | null;
  generation: number;
  /** Size of the stored save, packed. */
  bytes: number | null;
  /** What the save's files take in memory; null for saves of a release that did not count it. */
  unpackedBytes: number | null;
  /** Whether a newer version of the game than the one to launch wrote the save. */
  isNewer: boolean;
  /** Whether a session owns the slot: its last save has not arrived yet. */
  isPending: boolean;
  /** Whether the stored save was found missing or damaged. */
  isUnreadable: boolean;
}

/** Resource usage of a game's sessions; each value is null until a session has reported it. */
export interface ResourceProfile {
  /** Moving averages. */
  cpuMillicores: number | null;
  peakMemoryMb: number | null;
  /** The highest peak of any session. */
  highestMemoryMb: number | null;
  /** Minimum memory limit of the next session, after one ran out of memory. */
  memoryFloorMb: number | null;
}

/** A game's resource needs: declared by its partner, and measured in its sessions. */
export interface GameNeeds {
  declared: DeclaredResources;
  profile: ResourceProfile;
}

/** The data that decides whether and how a game is launched. */
export interface LaunchContext extends GameNeeds {
  gameId: string;
  versionId: string;
  sha256: string;
  launcher: string;
  engineDir: string;
  network: "none" | "internet";
  /** Null for the default. */
  saveLimitMb: number | null;
  /** Null for the default. */
  stopGraceSeconds: number | null;
  /** The user's session that has not ended. */
  activeSessionId: string | null;
  /**
   * Sessions of all users that the cluster has not ended yet, even if their players can already play again,
   * and seats held for queued launches.
   */
  activeSessions: number;
  /** Those of them whose objects the cluster may not have yet, at most 100. */
  unseenSessions: UnseenSession[];
  /** Launches that wait in the queue, in order of arrival. */
  queue: QueuedLaunch[];
  slots: Slot[];
  /** The quality kept with the player's account; null if they never chose one. */
  keptQuality: unknown;
  /** The play limits of the player's groups. */
  groupPlayLimits: GroupPlayLimits;
  /** The database's time, from which a session's expiry is computed. */
  now: Date;
}

/** The resources of a session that was just stored. */
export interface UnseenSession {
  id: string;
  resources: SessionResources;
  saveVolumeBytes: number;
}

/** A launch that waits in the queue. */
export interface QueuedLaunch extends UnseenSession {
  /** Whether a seat is held for it until its player confirms. */
  hasSeat: boolean;
  /** Seconds since a later launch first passed it; null if none did. */
  passedSeconds: number | null;
}

/** A session to store. */
export interface NewGameSession {
  id: string;
  userId: string;
  gameId: string;
  versionId: string;
  slotId: string;
  /** Set if the slot is created with the session. */
  newSlotNumber: number | undefined;
  spec: GameSessionSpec;
  /** Whether a play limit of the player ends the session before the site's longest duration. */
  isPlayLimited: boolean;
  /** Whether the session waits in the queue. */
  isQueued: boolean;
  /** Queued launches that this one passes for the first time. */
  passed: readonly string[];
}

/** The part of a context that belongs to one launch. */
type FoundGame = Omit<LaunchContext, keyof FoundForAll> & { number: number };
type FoundForAll = Pick<LaunchContext, "now" | "activeSessions" | "unseenSessions" | "queue">;

/**
 * Returns the context of each launch, in order; undefined for a game or channel that is not open to the
 * player. With `isToStore`, a share lock blocks new versions and deletions of the games until the sessions,
 * which pin these versions, are stored. Only then the result includes unseen sessions, which are the
 * expensive part: without them, a check may accept a launch that is refused when it is stored.
 */
export async function findLaunchContexts(
  db: Queryable,
  asked: readonly { userId: string; launch: { gameSlug: string; channel?: string | undefined } }[],
  { isToStore = false } = {},
): Promise<(LaunchContext | undefined)[]> {
  const {
    rows: [row],
  } = await db.query<FoundForAll & { games: FoundGame[] }>({
    name: isToStore ? "launch-world" : "launch-check",
    text: `
      WITH asked AS (SELECT * FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS a (slug, user_id, channel, number)),
      found AS (
        SELECT a.number, g.id AS "gameId", v.id AS "versionId", v.sha256,
          coalesce(v.launcher, g.launcher) AS launcher, coalesce(v.engine_dir, g.engine_dir) AS "engineDir",
          g.network, g.save_limit_mb AS "saveLimitMb", g.stop_grace_seconds AS "stopGraceSeconds",
          json_build_object('memoryMb', g.memory_mb, 'cpuMillicores', g.cpu_millicores, 'gpuShare', g.gpu_share,
            'pictureWidth', g.picture_width, 'pictureHeight', g.picture_height) AS "declared",
          json_build_object('cpuMillicores', g.profile_cpu_millicores, 'peakMemoryMb', g.profile_peak_memory_mb,
            'highestMemoryMb', g.profile_highest_memory_mb, 'memoryFloorMb', g.profile_memory_floor_mb) AS "profile",
          (SELECT stream_quality FROM users WHERE id = a.user_id) AS "keptQuality",
          ${groupPlayLimitsOf("a.user_id")} AS "groupPlayLimits",
          (SELECT id FROM game_sessions WHERE user_id = a.user_id AND status IN ('starting', 'running', 'stopping')) AS "activeSessionId",
          (SELECT coalesce(json_agg(json_build_object(
              'id', s.id, 'number', s.number, 'objectKey', s.object_key, 'sha256', s.sha256, 'generation', s.generation,
              'bytes', s.bytes, 'unpackedBytes', s.unpacked_bytes, 'isNewer', (SELECT (w.created_at, w.id) > (v.created_at, v.id) AND w.sha256 <> v.sha256
                FROM game_versions w WHERE w.id = s.game_version_id) IS TRUE, 'isPending', EXISTS (SELECT FROM game_sessions o WHERE o.slot_id = s.id AND o.slot_released_at IS NULL),
              'isUnreadable', EXISTS (SELECT FROM save_versions u WHERE u.slot_id = s.id AND u.object_key = s.object_key AND u.unreadable_at IS NOT NULL)) ORDER BY s.last_played_at DESC, s.number), '[]')
            FROM save_slots s WHERE s.user_id = a.user_id AND s.game_id = g.id) AS "slots"
        FROM asked a JOIN games g ON g.slug = a.slug
          JOIN LATERAL (
            SELECT open.name, open.version_id FROM (${openChannelsOf("a.user_id")}) open WHERE a.channel IS NULL OR open.name = a.channel
            ORDER BY open.name <> 'default', open.name LIMIT 1
          ) chosen ON true
          JOIN game_versions v ON v.id = chosen.version_id
        -- After a wait for the game's lock, only these conditions are tested again.
        WHERE g.deleted_at IS NULL AND g.hidden_at IS NULL AND (chosen.name <> 'default' OR v.id = g.current_version_id)
        ${isToStore ? "ORDER BY g.id FOR SHARE OF g" : ""}
      )
      SELECT now() AS now, (SELECT count(*)::int FROM game_sessions WHERE recorded_at IS NULL) AS "activeSessions", ${isToStore ? unseenSessions : "'[]'::json"} AS "unseenSessions", ${queue} AS "queue",
        (SELECT coalesce(json_agg(found), '[]') FROM found) AS games`,
    values: [
      asked.map(({ launch }) => launch.gameSlug),
      asked.map(({ userId }) => userId),
      asked.map(({ launch }) => launch.channel ?? null),
    ],
  });
  if (row === undefined) throw new Error("The database returned nothing about launches.");
  const { games, ...found } = row;
  const forAll = withoutWaiting(found);
  const byNumber = new Map(games.map(({ number, ...game }) => [number, { ...game, ...forAll }]));
  return asked.map((_, index) => byNumber.get(index + 1));
}

/** What the cluster has or is about to have, with the queue. */
export type ClusterContext = FoundForAll;

/** Returns the sessions of the cluster and the queue, without a launch. The launch lock must be held. */
export async function findClusterContext(transaction: Queryable): Promise<ClusterContext> {
  const {
    rows: [row],
  } = await transaction.query<ClusterContext>({
    name: "queue-world",
    text: `SELECT now() AS now, (SELECT count(*)::int FROM game_sessions WHERE recorded_at IS NULL) AS "activeSessions", ${unseenSessions} AS "unseenSessions", ${queue} AS "queue"`,
  });
  if (row === undefined) throw new Error("The database returned nothing about the queue.");
  return withoutWaiting(row);
}

/** Waiting launches take no room. The index over all rows counts them, so they are subtracted. */
function withoutWaiting(found: FoundForAll): FoundForAll {
  const waiting = found.queue.filter(({ hasSeat }) => !hasSeat).length;
  return { ...found, activeSessions: found.activeSessions - waiting };
}

const queue = `
  (SELECT coalesce(json_agg(json_build_object('id', q.id, 'resources', q.spec -> 'resources', 'saveVolumeBytes', q.spec -> 'saveVolumeBytes',
      'hasSeat', q.offered_at IS NOT NULL, 'passedSeconds', extract(epoch FROM now() - q.passed_at)) ORDER BY q.queue_number), '[]')
    FROM game_sessions q WHERE q.queue_number IS NOT NULL)`;

const unseenSessions = `
  (SELECT coalesce(json_agg(json_build_object('id', n.id, 'resources', n.spec -> 'resources', 'saveVolumeBytes', n.spec -> 'saveVolumeBytes')), '[]')
    FROM (SELECT id, spec FROM game_sessions WHERE cr_created_at IS NULL AND status = 'starting' AND queue_number IS NULL ORDER BY started_at DESC LIMIT 100) n)`;

/**
 * Stores sessions of different players with their new slots, and counts the launches; with `isQueued`, at the
 * end of the queue. Each session owns its slot from then on. Returns false if a user has an active session, a
 * session owns one of the slots, or a slot has changed since it was read; the transaction must then be rolled
 * back.
 */
export async function insertGameSessions(
  transaction: Queryable,
  sessions: readonly NewGameSession[],
  isQueued: boolean,
): Promise<boolean> {
  if (sessions.length === 0) return true;
  const { rowCount } = await transaction.query({
    name: isQueued ? "insert-queued-game-session" : "insert-game-session",
    text: `
      WITH launched AS (
        SELECT * FROM jsonb_to_recordset($1::jsonb)
          AS l ("id" text, "userId" text, "gameId" text, "versionId" text, "slotId" text, "newSlotNumber" smallint, "spec" jsonb, "isPlayLimited" boolean)
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
      ${isQueued ? insertQueued : insertStarting} FROM launched
      WHERE "newSlotNumber" IS NOT NULL OR "slotId" IN (SELECT id FROM known_slots)
      ON CONFLICT DO NOTHING`,
    values: [JSON.stringify(sessions)],
  });
  return rowCount === sessions.length;
}

const insertStarting = `INSERT INTO game_sessions (id, cr_name, user_id, game_id, version_id, slot_id, spec, idle_timeout_seconds, is_play_limited)
      SELECT id, id, "userId", "gameId", "versionId", "slotId", spec, (spec ->> 'idleTimeoutSeconds')::int, "isPlayLimited"`;
const insertQueued = `INSERT INTO game_sessions (id, cr_name, user_id, game_id, version_id, slot_id, spec, idle_timeout_seconds, is_play_limited, queue_number, queued_at, expires_at)
      SELECT id, id, "userId", "gameId", "versionId", "slotId", spec, (spec ->> 'idleTimeoutSeconds')::int, "isPlayLimited",
        nextval('game_queue_numbers'), now(), now() + make_interval(secs => ${limits.queue.silentSeconds})`;

/** Records that a later launch has passed these queued ones. */
export async function updateQueuedPassed(transaction: Queryable, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await transaction.query({
    name: "note-passed",
    text: "UPDATE game_sessions SET passed_at = now() WHERE id = ANY ($1) AND queue_number IS NOT NULL AND passed_at IS NULL",
    values: [ids],
  });
}

/** Returns whether the user has a session that has not ended. */
export async function hasActiveGameSession(transaction: Queryable, userId: string): Promise<boolean> {
  const { rowCount } = await transaction.query(
    "SELECT FROM game_sessions WHERE user_id = $1 AND status IN ('starting', 'running', 'stopping')",
    [userId],
  );
  return rowCount !== 0;
}

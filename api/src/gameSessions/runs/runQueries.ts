import type { PublicStatus } from "#contracts/crd/sessionState.ts";
import { limits } from "#contracts/limits.ts";
import type { Queryable } from "../../stores/queryable.ts";

/** One session of a game, without anything about its player. */
export interface RunRow {
  id: string;
  gameVersionId: string;
  versionLabel: string | null;
  status: PublicStatus;
  startedAt: Date;
  readyAt: Date | null;
  endedAt: Date | null;
  durationSeconds: number | null;
  stopReason: string | null;
  failureReason: string | null;
  failureMessage: string | null;
  exitCode: number | null;
  exitSignal: string | null;
  endedBy: string | null;
  cpuSeconds: number | null;
  peakMemoryMb: number | null;
  fullFolders: string[] | null;
  /** Not checked. */
  streamSummary: unknown;
}

/** The place of a run in the list. */
export interface RunPosition {
  startedAt: Date;
  id: string;
}

/** Which runs to list. */
export interface RunFilter {
  gameVersionId: string | undefined;
  /** First and last day (UTC), as `YYYY-MM-DD`. */
  from: string | undefined;
  to: string | undefined;
  /** Lists only runs that failed for one of these reasons. */
  failureReasons: readonly string[] | undefined;
  /** The last run of the page before. */
  after: RunPosition | undefined;
  limit: number;
}

const columns = `s.id, s.version_id AS "gameVersionId", v.label AS "versionLabel", s.status, s.started_at AS "startedAt",
  s.ready_at AS "readyAt", s.ended_at AS "endedAt", s.duration_seconds AS "durationSeconds", s.stop_reason AS "stopReason",
  s.failure_reason AS "failureReason", s.failure_message AS "failureMessage", s.exit_code AS "exitCode",
  s.exit_signal AS "exitSignal", s.ended_by AS "endedBy", s.cpu_seconds AS "cpuSeconds", s.peak_memory_mb AS "peakMemoryMb",
  s.full_folders AS "fullFolders", s.stream_summary AS "streamSummary"`;

/** Sessions that got a seat. One that waits in the queue has not started. */
const runs = `game_sessions s JOIN game_versions v ON v.id = s.version_id
      WHERE s.game_id = $1 AND s.cr_created_at IS NOT NULL`;

/** Returns SQL for sessions that started on the days from `first` to `last`; null means unlimited. */
function startedWithin(first: string, last: string): string {
  return `s.started_at >= COALESCE(${first}::date::timestamp AT TIME ZONE 'UTC', '-infinity')
        AND s.started_at < COALESCE((${last}::date + 1)::timestamp AT TIME ZONE 'UTC', 'infinity')`;
}

/** Returns SQL for sessions that failed for one of the reasons. The first condition is that of an index. */
function failedFor(reasons: string): string {
  return `s.failure_reason IS NOT NULL AND s.failure_reason = ANY(${reasons}::text[])`;
}

/** Returns a page of a game's runs, newest first. */
export async function listRuns(
  db: Queryable,
  gameId: string,
  { gameVersionId, from, to, failureReasons, after, limit }: RunFilter,
): Promise<RunRow[]> {
  const isOfVersion = gameVersionId !== undefined;
  const isFailed = failureReasons !== undefined;
  // Each combination has its own statement, because a generic plan for all could not use the indexes.
  const [all, failed] = isOfVersion
    ? ["list-version-runs", "list-failed-version-runs"]
    : ["list-runs", "list-failed-runs"];
  const { rows } = await db.query<RunRow>({
    name: isFailed ? failed : all,
    text: `SELECT ${columns} FROM ${runs} AND ${startedWithin("$2", "$3")}
        AND (s.started_at, s.id) < ($4::timestamptz, $5::text)
        ${isFailed ? `AND ${failedFor("$7")} ${isOfVersion ? "AND s.version_id = $8" : ""}` : isOfVersion ? "AND s.version_id = $7" : ""}
      ORDER BY s.started_at DESC, s.id DESC LIMIT $6`,
    values: [
      gameId,
      from ?? null,
      to ?? null,
      after?.startedAt ?? "infinity",
      after?.id ?? "",
      limit,
      ...(isFailed ? [failureReasons] : []),
      ...(isOfVersion ? [gameVersionId] : []),
    ],
  });
  return rows;
}

/** Returns one run of a game; undefined if it is unknown. */
export async function findRun(db: Queryable, gameId: string, id: string): Promise<RunRow | undefined> {
  const { rows } = await db.query<RunRow>({
    name: "find-run",
    text: `SELECT ${columns} FROM ${runs} AND s.id = $2`,
    values: [gameId, id],
  });
  return rows[0];
}

/** Sums of the runs of one day and version, or of all; `day` and `gameVersionId` are then null. */
export interface RunTotalsRow {
  day: string | null;
  gameVersionId: string | null;
  versionLabel: string | null;
  plays: number;
  seconds: number;
  players: number;
  crashes: number;
}

/**
 * Returns the totals of the days from `from` to `to` (UTC): first those of all days, then of each day and
 * version, newest day first. Counted are sessions that were ready or failed for one of the reasons.
 */
export async function sumRuns(
  db: Queryable,
  gameId: string,
  { from, to }: { from: string; to: string },
  failureReasons: readonly string[],
): Promise<RunTotalsRow[]> {
  const { rows } = await db.query<RunTotalsRow>({
    name: "sum-runs",
    text: `
      WITH played AS (
        SELECT (s.started_at AT TIME ZONE 'UTC')::date AS day, s.version_id, v.label, s.user_id, s.duration_seconds,
          COALESCE(s.failure_reason = ANY($4::text[]), false) AS is_crash
        FROM ${runs} AND ${startedWithin("$2", "$3")} AND (s.ready_at IS NOT NULL OR s.failure_reason = ANY($4::text[]))
      )
      SELECT to_char(day, 'YYYY-MM-DD') AS day, version_id AS "gameVersionId", label AS "versionLabel", count(*)::int AS plays,
        coalesce(sum(duration_seconds), 0) AS seconds, count(DISTINCT user_id)::int AS players,
        (count(*) FILTER (WHERE is_crash))::int AS crashes
      FROM played GROUP BY GROUPING SETS ((), (day, version_id, label))
      ORDER BY grouping(version_id) DESC, played.day DESC, plays DESC, version_id
      LIMIT ${limits.run.totalsRowsMax} + 1`,
    values: [gameId, from, to, failureReasons],
  });
  return rows;
}

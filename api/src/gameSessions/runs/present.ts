import { StreamSummary } from "#contracts/crd/gameSession.ts";
import { gameFaults } from "#contracts/crd/gameSessionReasons.ts";
import { hasEnded, isOngoing } from "#contracts/crd/sessionState.ts";
import type { GameRun, GameRunsResponse, GameRunTotalsResponse } from "#contracts/http/gameRuns.ts";
import { GameFolder } from "#contracts/termination.ts";
import { invalidRequest } from "../../errors.ts";
import { publicEndOf } from "../sessions/present.ts";
import type { RunPosition, RunRow, RunTotalsRow } from "./runQueries.ts";

const enders: Readonly<Record<string, GameRun["endedBy"]>> = {
  Itself: "itself",
  CloseRequest: "close_request",
  Sigterm: "sigterm",
  Sigkill: "sigkill",
};

/** Returns a page of runs. `rows` has one more than the page if another one follows. */
export function presentRuns(rows: readonly RunRow[], limit: number): GameRunsResponse {
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return {
    runs: page.map(presentRun),
    nextCursor: rows.length > limit && last !== undefined ? cursorOf(last) : null,
  };
}

/** Returns one run as the game's partner sees it. */
export function presentRun(row: RunRow): GameRun {
  const { id, gameVersionId, versionLabel, status, startedAt, readyAt, endedAt } = row;
  const isOver = hasEnded(status);
  return {
    id,
    gameVersionId,
    versionLabel,
    status,
    startedAt: startedAt.toISOString(),
    readyAt: readyAt?.toISOString() ?? null,
    endedAt: endedAt?.toISOString() ?? null,
    playSeconds: isOver ? rounded(row.durationSeconds ?? 0, 10) : null,
    endReason: isOngoing(status)
      ? null
      : (publicEndOf(row.stopReason, readyAt !== null, { failureReason: row.failureReason })?.endReason ??
        null),
    ...presentFailure(row),
    exit: row.exitCode === null ? null : { code: row.exitCode, signal: row.exitSignal },
    endedBy: enders[row.endedBy ?? ""] ?? null,
    usage: presentUsage(row),
    fullFolders: (row.fullFolders ?? []).flatMap(
      (name) => GameFolder.safeParse(name.toLowerCase()).data ?? [],
    ),
    stream: presentStream(row.streamSummary),
  };
}

/** The messages of other failures are about the platform, and may name its parts. */
function presentFailure({ failureReason, failureMessage }: RunRow): Pick<GameRun, "failure" | "crashed"> {
  const crashed = gameFaults.some((fault) => fault === failureReason);
  if (failureReason === null) return { failure: null, crashed };
  return { failure: { reason: failureReason, message: crashed ? failureMessage : null }, crashed };
}

/** Without a report of its container, a session is stored with a usage of 0. */
function presentUsage({ cpuSeconds, peakMemoryMb }: RunRow): GameRun["usage"] {
  if (cpuSeconds === null || peakMemoryMb === null || peakMemoryMb === 0) return null;
  return { cpuSeconds: rounded(cpuSeconds, 100), peakMemoryMb: rounded(peakMemoryMb, 100) };
}

function presentStream(stored: unknown): GameRun["stream"] {
  const summary = StreamSummary.safeParse(stored).data;
  if (summary === undefined) return null;
  const { firstPictureSeconds, viewedSeconds, averageFps, averageKbps, averageLoss, width, height } = summary;
  return {
    firstPictureSeconds: firstPictureSeconds === undefined ? null : rounded(firstPictureSeconds, 10),
    viewedSeconds: rounded(viewedSeconds, 10),
    averageFps: rounded(averageFps, 10),
    averageKbps: rounded(averageKbps, 1),
    averageLoss: rounded(averageLoss, 10_000),
    width,
    height,
  };
}

/** Returns the totals of a range; the first row has those of all days. */
export function presentRunTotals(
  range: { from: string; to: string },
  rows: readonly RunTotalsRow[],
): GameRunTotalsResponse {
  const sum = rows.find(({ day }) => day === null);
  return {
    ...range,
    total: presentTotals(sum ?? { plays: 0, seconds: 0, players: 0, crashes: 0 }),
    days: rows.flatMap(({ day, gameVersionId, versionLabel, ...totals }) =>
      day === null || gameVersionId === null
        ? []
        : [{ day, gameVersionId, versionLabel, ...presentTotals(totals) }],
    ),
  };
}

function presentTotals({
  plays,
  seconds,
  players,
  crashes,
}: Pick<RunTotalsRow, "plays" | "seconds" | "players" | "crashes">): GameRunTotalsResponse["total"] {
  const crashRate = plays === 0 ? 0 : rounded(crashes / plays, 10_000);
  return { plays, hours: rounded(seconds / 3600, 100), players, crashes, crashRate };
}

/** Returns the cursor of the page that follows a run. */
function cursorOf({ startedAt, id }: RunPosition): string {
  return Buffer.from(`${startedAt.getTime()}.${id}`).toString("base64url");
}

/**
 * Returns the place in the list that a cursor names.
 *
 * @throws invalid_request when it is no cursor
 */
export function positionOf(cursor: string): RunPosition {
  const [, ms, id] =
    /^(\d{1,14})\.([a-z0-9-]{1,63})$/.exec(Buffer.from(cursor, "base64url").toString()) ?? [];
  if (ms === undefined || id === undefined) {
    const message = "must be the nextCursor of a response";
    throw invalidRequest(`The request is not valid. cursor: ${message}`, [{ path: "cursor", message }]);
  }
  return { startedAt: new Date(Number(ms)), id };
}

function rounded(value: number, precision: number): number {
  return Math.round(value * precision) / precision;
}

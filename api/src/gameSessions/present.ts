import type { GameSession } from "#contracts/crd/gameSession.ts";
import { hasEnded, isOngoing, publicStatusOf, type PublicStatus } from "#contracts/crd/sessionState.ts";
import type {
  GameSessionsResponse,
  GameSessionStatusResponse,
  KeepaliveResponse,
  LaunchResponse,
  StopPendingResponse,
  StopResponse,
} from "#contracts/http/gameSessions.ts";
import { publicEndOf } from "./stopCause.ts";
import { presentQuality } from "./streamSpec.ts";
import { saveNoticeOf } from "./saveNotice.ts";
import { launchProgressOf, type LaunchProgress } from "./launchStep.ts";
import type { ClusterView } from "../cluster/clusterView.ts";
import type { GameSessionRow } from "./gameSessionQueries.ts";

/** Path below which the streams of sessions are reached. */
export const streamPath = "/api/stream";

/** Returns the response to an accepted launch. */
export function presentLaunch(sessionId: string): LaunchResponse {
  return { sessionId, status: "starting" };
}

/**
 * Returns everything that the play page shows of a session: the row's state, or the cluster's where the
 * recorder is a moment behind it.
 */
export function presentGameSession(
  row: GameSessionRow,
  cluster: ClusterView,
  baseUrl: string,
): GameSessionStatusResponse {
  const gameSession = cluster.gameSession(row.id);
  const status = currentStatus(row, gameSession);
  const serverUrl = `${baseUrl}${streamPath}`;
  const isGoingOn = isOngoing(status);
  const stopReason =
    row.stopReason ?? gameSession?.status?.stopReason ?? gameSession?.spec.stopReason ?? null;
  return {
    sessionId: row.id,
    status,
    serverUrl,
    containerUrl: status === "running" ? `${serverUrl}/${row.id}` : null,
    gameTitle: row.gameTitle,
    startedAt: row.startedAt.toISOString(),
    ...(status === "starting"
      ? presentLaunchProgress(launchProgressOf(gameSession, (name) => cluster.gameNode(name)))
      : {}),
    ...(status === "running" && row.expiresAt !== null ? { expiresAt: row.expiresAt.toISOString() } : {}),
    ...(isGoingOn
      ? {}
      : publicEndOf(
          stopReason,
          wasReady(row, gameSession),
          row.failureReason ?? gameSession?.status?.failure?.reason,
        )),
    ...(isGoingOn ? { quality: presentQuality(row.stream) } : {}),
    ...presentSaveNotice(row, gameSession, isGoingOn),
  };
}

/** The HTTP interface calls a launch's step its stage. */
function presentLaunchProgress({
  step,
  ...progress
}: LaunchProgress): Pick<GameSessionStatusResponse, "stage" | "progressPercent"> {
  return { stage: step, ...progress };
}

/**
 * Returns the notice by the session's object while there is one: a save may still be on its way when the row
 * is written.
 */
function presentSaveNotice(
  row: GameSessionRow,
  gameSession: GameSession | undefined,
  isGoingOn: boolean,
): Pick<GameSessionStatusResponse, "saveNotice"> {
  const notice = gameSession === undefined ? row.saveNotice : saveNoticeOf(gameSession, isGoingOn);
  return notice === undefined || notice === null ? {} : { saveNotice: notice };
}

/** Returns the user's sessions that have not ended. */
export function presentGameSessions(
  rows: readonly GameSessionRow[],
  cluster: ClusterView,
): GameSessionsResponse {
  return {
    sessions: rows.map((row) => ({
      sessionId: row.id,
      gameSlug: row.gameSlug,
      gameTitle: row.gameTitle,
      status: currentStatus(row, cluster.gameSession(row.id)),
      startedAt: row.startedAt.toISOString(),
    })),
  };
}

/** Returns the new expiry as the response to a keepalive. */
export function presentKeepalive(expiresAt: Date): KeepaliveResponse {
  return { status: "ok", expiresAt: expiresAt.toISOString() };
}

/**
 * Returns the statistics of an ended session, the same each time; without a row the session is still
 * stopping.
 */
export function presentStop(row: GameSessionRow | undefined): StopResponse | StopPendingResponse {
  if (row === undefined) return { status: "stopping" };
  return {
    status: "stopped",
    duration: rounded(row.durationSeconds),
    cpuSeconds: rounded(row.cpuSeconds),
    peakMemoryMb: rounded(row.peakMemoryMb),
  };
}

/**
 * Returns the session's status: the row's, above all about the end; only a status before the end may come
 * from the cluster first.
 */
export function currentStatus(
  row: Pick<GameSessionRow, "status">,
  gameSession: GameSession | undefined,
): PublicStatus {
  if (gameSession === undefined || !isOngoing(row.status)) return row.status;
  const observed = publicStatusOf(gameSession);
  if (hasEnded(observed)) return "stopping"; // Its result can only be read once it is stored.
  return observed === "starting" ? row.status : observed;
}

function wasReady({ readyAt }: GameSessionRow, gameSession: GameSession | undefined): boolean {
  return readyAt !== null || gameSession?.status?.readyAt !== undefined;
}

function rounded(value: number | null): number {
  return Math.round((value ?? 0) * 100) / 100;
}

import type { GameSession } from "#contracts/crd/gameSession.ts";
import { publicStatusOf, type PublicStatus } from "#contracts/crd/publicStatus.ts";
import type { GameSessionsResponse, GameSessionStatusResponse, KeepaliveResponse, LaunchResponse, StopPendingResponse, StopResponse } from "#contracts/http/gameSessions.ts";
import { publicEndOf } from "./endReason.ts";
import { saveNoticeOf } from "./saveNotice.ts";
import { launchProgressOf } from "./launchStep.ts";
import type { ClusterView } from "../cluster/clusterView.ts";
import type { GameSessionRow } from "./gameSessionStore.ts";

/** Path below which the streams of sessions are reached. */
export const streamPath = "/api/stream";

/** Answer of an accepted launch. */
export function presentLaunch(sessionId: string): LaunchResponse {
  return { sessionId, status: "starting" };
}

/** Everything the play page shows of a session: the row's facts, made newer by the cluster's where the recorder is a moment behind. */
export function presentGameSession(row: GameSessionRow, cluster: ClusterView, baseUrl: string): GameSessionStatusResponse {
  const gameSession = cluster.gameSession(row.id);
  const status = currentStatus(row, gameSession);
  const serverUrl = `${baseUrl}${streamPath}`;
  const hasEnded = status === "stopping" || status === "stopped" || status === "error";
  const stopReason = row.stopReason ?? gameSession?.status?.stopReason ?? gameSession?.spec.stopReason ?? null;
  return {
    sessionId: row.id,
    status,
    serverUrl,
    containerUrl: status === "running" ? `${serverUrl}/${row.id}` : null,
    gameTitle: row.gameTitle,
    startedAt: row.startedAt.toISOString(),
    ...(status === "starting" ? launchProgressOf(gameSession, (name) => cluster.gameNode(name)) : {}),
    ...(status === "running" && row.expiresAt !== null ? { expiresAt: row.expiresAt.toISOString() } : {}),
    ...(hasEnded ? publicEndOf(stopReason, wasReady(row, gameSession)) : {}),
    ...saveNotice(row, gameSession, hasEnded),
  };
}

/** The cluster's word while it has one: a save may still be on its way when the row is written. */
function saveNotice(row: GameSessionRow, gameSession: GameSession | undefined, hasEnded: boolean): Pick<GameSessionStatusResponse, "saveNotice"> {
  const notice = gameSession === undefined ? row.saveNotice : saveNoticeOf(gameSession, !hasEnded);
  return notice === undefined || notice === null ? {} : { saveNotice: notice };
}

/** The user's sessions that have not ended. */
export function presentGameSessions(rows: readonly GameSessionRow[], cluster: ClusterView): GameSessionsResponse {
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

/** The new expiry, as the answer to a keepalive. */
export function presentKeepalive(expiresAt: Date): KeepaliveResponse {
  return { status: "ok", expiresAt: expiresAt.toISOString() };
}

/** Statistics of an ended session, the same at every asking; without a row the end is still under way. */
export function presentStop(row: GameSessionRow | undefined): StopResponse | StopPendingResponse {
  if (row === undefined) return { status: "stopping" };
  return {
    status: "stopped",
    duration: rounded(row.durationSeconds),
    cpuSeconds: rounded(row.cpuSeconds),
    peakMemoryMb: rounded(row.peakMemoryMb),
  };
}

/** The row decides, above all about the end; only what comes before it may be read from the cluster first. */
export function currentStatus(row: Pick<GameSessionRow, "status">, gameSession: GameSession | undefined): PublicStatus {
  if (gameSession === undefined || (row.status !== "starting" && row.status !== "running")) return row.status;
  const seen = publicStatusOf(gameSession);
  if (seen === "stopped" || seen === "error") return "stopping"; // Until its result is stored it cannot be asked for.
  return seen === "starting" ? row.status : seen;
}

function wasReady({ readyAt }: GameSessionRow, gameSession: GameSession | undefined): boolean {
  return readyAt !== null || gameSession?.status?.readyAt !== undefined;
}

function rounded(value: number | null): number {
  return Math.round((value ?? 0) * 100) / 100;
}

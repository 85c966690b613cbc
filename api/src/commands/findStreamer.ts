import { whep } from "#contracts/stream.ts";
import type { Deps } from "../deps.ts";
import { HttpError, notFound } from "../errors.ts";
import { currentStatus } from "../presenters/gameSession.ts";
import { findGameSession } from "../stores/gameSessionStore.ts";

type StreamerDeps = Pick<Deps, "postgres" | "cluster">;

/** Address of the pod that streams the user's session. Throws not_found, and not_running before and after it runs. */
export async function findStreamer(deps: StreamerDeps, userId: string, id: string): Promise<string> {
  return locate(deps, userId, id, 0);
}

/**
 * The same, but for a session that is starting it waits: so the answer comes the moment the session runs, instead of when the
 * page asks next. Throws not_ready when that takes longer than offers are held.
 */
export async function awaitStreamer(deps: StreamerDeps, userId: string, id: string): Promise<string> {
  return locate(deps, userId, id, whep.holdSeconds * 1_000);
}

async function locate({ postgres, cluster }: StreamerDeps, userId: string, id: string, holdMs: number): Promise<string> {
  const row = await findGameSession(postgres.pool, id, userId);
  if (row === undefined) throw notFound("There is no such session.");
  if (holdMs > 0) await cluster.waitForGameSession(id, (gameSession) => currentStatus(row, gameSession) !== "starting", holdMs);
  const gameSession = cluster.gameSession(id);
  const status = currentStatus(row, gameSession);
  const podIp = gameSession?.status?.podRef?.ip;
  if (status === "running" && podIp !== undefined) return podIp;
  if (status === "starting" && holdMs > 0) throw new HttpError("not_ready", { message: "The session is still starting: offer again.", retryAfterSeconds: 1 });
  throw new HttpError("not_running", { message: "The session is not running." });
}

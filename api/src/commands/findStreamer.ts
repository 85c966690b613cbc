import type { PublicStatus } from "#contracts/crd/publicStatus.ts";
import type { Deps } from "../deps.ts";
import { HttpError, notFound } from "../errors.ts";
import { currentStatus } from "../presenters/gameSession.ts";
import { findGameSession } from "../stores/gameSessionStore.ts";

type StreamerDeps = Pick<Deps, "postgres" | "cluster">;

/** Where a session stands, and the address of its pod while that may be spoken to: once its streamer runs, and until the end begins. */
export interface FoundStreamer {
  status: PublicStatus;
  podIp: string | undefined;
}

/** Address of the pod that streams the user's session. Throws not_found, and not_running while there is none. */
export async function findStreamer(deps: StreamerDeps, userId: string, id: string): Promise<string> {
  const { podIp } = (await followStreamer(deps, userId, id, 0))();
  if (podIp === undefined) throw notRunning();
  return podIp;
}

/**
 * Gives a function that tells where the user's session stands now, by the cluster. While the session starts and has no streamer
 * yet, waits so long for one before. Throws not_found.
 */
export async function followStreamer({ postgres, cluster }: StreamerDeps, userId: string, id: string, waitMs: number): Promise<() => FoundStreamer> {
  const row = await findGameSession(postgres.pool, id, userId);
  if (row === undefined) throw notFound("There is no such session.");
  const look = (): FoundStreamer => {
    const gameSession = cluster.gameSession(id);
    const status = currentStatus(row, gameSession);
    const isOpen = status === "starting" || status === "running";
    return { status, podIp: isOpen ? gameSession?.status?.podIp : undefined };
  };
  if (waitMs > 0) {
    await cluster.waitForGameSession(id, () => {
      const { status, podIp } = look();
      return status !== "starting" || podIp !== undefined;
    }, waitMs);
  }
  return look;
}

/** 409: there is no pod to speak to, and waiting brings none. */
export function notRunning(): HttpError {
  return new HttpError("not_running", { message: "The session is not running." });
}

import type { PublicStatus } from "#contracts/crd/publicStatus.ts";
import type { ClusterView } from "../cluster/clusterView.ts";
import { HttpError, notFound } from "../errors.ts";
import { currentStatus } from "../gameSessions/present.ts";
import { findGameSession } from "../gameSessions/gameSessionStore.ts";
import type { Postgres } from "../stores/postgres.ts";

/** What finding a session's streamer needs. */
export interface FindStreamerDeps {
  postgres: Postgres;
  cluster: ClusterView;
}

/** Where a session stands, and the address of its pod while that may be spoken to: once its streamer runs, and until the end begins. */
export interface FoundStreamer {
  status: PublicStatus;
  podIp: string | undefined;
}

/** A session that is looked at again and again. */
export interface FollowedStreamer {
  /** Where it stands now, by the cluster. */
  look(): FoundStreamer;
  /** Resolves once its streamer can be spoken to or will not come any more; after `ms` at the latest. */
  wait(ms: number): Promise<void>;
}

/** Address of the pod that streams the user's session. Throws not_found, and not_running while there is none. */
export async function findStreamer(deps: FindStreamerDeps, userId: string, id: string): Promise<string> {
  const { podIp } = (await followStreamer(deps, userId, id)).look();
  if (podIp === undefined) throw notRunning();
  return podIp;
}

/** The user's session, from the database; what becomes of it, from the cluster. Throws not_found. */
export async function followStreamer({ postgres, cluster }: FindStreamerDeps, userId: string, id: string): Promise<FollowedStreamer> {
  const row = await findGameSession(postgres.pool, id, userId);
  if (row === undefined) throw notFound("There is no such session.");
  const look = (): FoundStreamer => {
    const gameSession = cluster.gameSession(id);
    const status = currentStatus(row, gameSession);
    const isOpen = status === "starting" || status === "running";
    return { status, podIp: isOpen ? gameSession?.status?.podIp : undefined };
  };
  const wait = async (ms: number): Promise<void> => {
    await cluster.waitForGameSession(id, () => {
      const { status, podIp } = look();
      return status !== "starting" || podIp !== undefined;
    }, ms);
  };
  return { look, wait };
}

/** 409: there is no pod to speak to, and waiting brings none. */
export function notRunning(): HttpError {
  return new HttpError("not_running", { message: "The session is not running." });
}

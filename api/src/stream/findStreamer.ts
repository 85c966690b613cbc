import { isOngoing, type PublicStatus } from "#contracts/crd/sessionState.ts";
import { DomainError, notFound, unavailable } from "../errors.ts";
import { currentStatus } from "../gameSessions/sessions/present.ts";
import { readGameSession } from "../gameSessions/sessions/readGameSession.ts";
import type { Deps } from "../deps.ts";

/**
 * A session's status, and the address of its pod while requests may be sent there: once its streamer runs,
 * and until the end begins.
 */
export interface StreamerLocation {
  status: PublicStatus;
  podIp: string | undefined;
  /** Of the tickets that its streamer takes; undefined where that asks for none, or is not known yet. */
  ticketPublicKey: string | undefined;
}

/** The same of a session that has a pod. */
export interface ReachableStreamer extends StreamerLocation {
  podIp: string;
}

/** A session's streamer, followed over time. */
export interface FollowedStreamer {
  /** Returns what the cluster says now. */
  current(): StreamerLocation;
  /** Resolves once its streamer can be reached or will not start any more; after `ms` at the latest. */
  wait(ms: number): Promise<void>;
}

/** Returns where the user's session is streamed from. Throws not_found, and what `withoutPod` returns. */
export async function findStreamer(
  deps: Pick<Deps, "postgres" | "databaseOutages" | "cluster">,
  userId: string,
  id: string,
): Promise<ReachableStreamer> {
  const { podIp, ...location } = (await followStreamer(deps, userId, id)).current();
  if (podIp === undefined) throw withoutPod(location.status);
  return { ...location, podIp };
}

/** Returns the user's session with its streamer as the cluster knows it. Throws not_found. */
export async function followStreamer(
  deps: Pick<Deps, "postgres" | "databaseOutages" | "cluster">,
  userId: string,
  id: string,
): Promise<FollowedStreamer> {
  const { cluster } = deps;
  const row = await readGameSession(deps, id, userId);
  if (row === undefined) throw notFound("This session does not exist.");
  const current = (): StreamerLocation => {
    const gameSession = cluster.gameSession(id);
    const status = currentStatus(row, gameSession);
    return {
      status,
      podIp: isOngoing(status) ? gameSession?.status?.podIp : undefined,
      ticketPublicKey: gameSession?.spec.ticketPublicKey,
    };
  };
  const wait = async (ms: number): Promise<void> => {
    await cluster.waitForGameSession(
      id,
      () => {
        const { status, podIp } = current();
        return status !== "starting" || podIp !== undefined;
      },
      ms,
    );
  };
  return { current, wait };
}

/**
 * Returns the error for a session of which no pod is known: not_ready while it starts, unavailable while it
 * runs, whose pod this replica's copy of the cluster has yet to show, and not_running after that.
 */
export function withoutPod(status: PublicStatus): DomainError {
  if (status === "starting") return notReady();
  return status === "running" ? streamUnavailable() : notRunning();
}

/**
 * Returns the error for the streamer of a running session that cannot be asked yet, or says nothing that is
 * understood.
 */
export function streamUnavailable(): DomainError {
  return unavailable("The stream is not ready. Try again in a moment.", undefined, 1);
}

/** Returns the error for a session whose streamer is still expected. */
export function notReady(): DomainError {
  return new DomainError("not_ready", {
    message: "The session is still starting. Send the offer again.",
    retryAfterSeconds: 1,
  });
}

/** Returns the error for a session whose end has begun. */
export function notRunning(): DomainError {
  return new DomainError("not_running", { message: "The session is not running." });
}

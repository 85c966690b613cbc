import { isOngoing, type PublicStatus } from "#contracts/crd/sessionState.ts";
import { DomainError, notFound, unavailable } from "../errors.ts";
import { currentStatus } from "../gameSessions/sessions/present.ts";
import { readGameSession } from "../gameSessions/sessions/readGameSession.ts";
import type { Deps } from "../deps.ts";

/**
 * A session's status, and its pod's address while requests may be sent there: from the streamer's start until
 * the session's end begins.
 */
export interface StreamerLocation {
  status: PublicStatus;
  podIp: string | undefined;
  /** Key of the tickets that its streamer accepts; undefined if it requires none, or is not known yet. */
  ticketPublicKey: string | undefined;
}

/** The location of a session that has a pod. */
export interface ReachableStreamer extends StreamerLocation {
  podIp: string;
}

/** A session's streamer, observed over time. */
export interface FollowedStreamer {
  /** Returns the current location. */
  current(): StreamerLocation;
  /** Resolves when the streamer is reachable or will not start any more, after `ms` at the latest. */
  wait(ms: number): Promise<void>;
}

/**
 * Returns where the user's session is streamed from.
 *
 * @throws DomainError `not_found`, or the error of `withoutPod`.
 */
export async function findStreamer(
  deps: Pick<Deps, "postgres" | "databaseOutages" | "cluster">,
  userId: string,
  id: string,
): Promise<ReachableStreamer> {
  const { podIp, ...location } = (await followStreamer(deps, userId, id)).current();
  if (podIp === undefined) throw withoutPod(location.status);
  return { ...location, podIp };
}

/**
 * Returns the streamer of the user's session.
 *
 * @throws DomainError `not_found`.
 */
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
 * Returns the error for a session without a known pod: `not_ready` while it starts, `unavailable` while it
 * runs and this replica's copy of the cluster lags behind, `not_running` after that.
 */
export function withoutPod(status: PublicStatus): DomainError {
  if (status === "starting") return notReady();
  return status === "running" ? streamUnavailable() : notRunning();
}

/**
 * Returns the error for a running session's streamer that cannot be reached yet, or responds with something
 * unexpected.
 */
export function streamUnavailable(): DomainError {
  return unavailable("The stream is not ready. Try again in a moment.", undefined, 1);
}

/** Returns the error for a session whose streamer is still starting. */
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

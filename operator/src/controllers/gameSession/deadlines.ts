import type { GameSession } from "#contracts/crd/gameSession.ts";
import { isFinished } from "#contracts/crd/sessionState.ts";
import { limits } from "#contracts/limits.ts";
import type { Pod } from "#kube/api/builtin.ts";
import type { Stored } from "#kube/api/object.ts";
import { unschedulable } from "../../sessionPods/podState.ts";
import type { Moment, NotedMoments } from "./moments.ts";
import { currentPod, isNodeBehind, type SessionWorld } from "./world.ts";

/**
 * When time alone changes what has to be done, in milliseconds of this process's monotonic clock: each counts
 * from when the operator saw its begin.
 */
export interface Deadlines {
  /** The session is not ready in time. */
  start?: number;
  /** The current node has not made the game's files ready, or fetched the save, in time. */
  download?: number;
  /** The scheduler has not found room in time. */
  unschedulable?: number;
  /** No keepalive has arrived. The API usually notices first, in its database. */
  idle?: number;
  maxDuration?: number;
  /**
   * The stop no longer waits for the game's end and the last save, so a silent kubelet, agent or store does
   * not block the player.
   */
  saveGiveUp?: number;
  /** The status says that the session is being stopped, which until then its spec alone says. */
  stoppingNote?: number;
  /** The finished object is deleted. */
  expiry?: number;
}

/**
 * A stop that the spec asks for is mostly over before this, and costs no write at its begin. One that waits
 * for longer must not go on to look as if the game were played: an admin who looks for what holds it up would
 * not find it.
 */
const stoppingNoteSeconds = 5;

/**
 * Returns the deadlines that apply to the session as it is. Every state has one, except that a finished
 * session waits for the API's recorder.
 */
export function deadlinesOf(world: SessionWorld): Deadlines {
  const { session } = world;
  if (isFinished(session))
    return { expiry: after(world, "finishedAt", session.spec.ttlSecondsAfterFinished) };
  if (hasStopBegun(world)) return stopDeadlines(world);
  return session.status?.readyAt === undefined ? startDeadlines(world) : runDeadlines(world);
}

function stopDeadlines(world: SessionWorld): Deadlines {
  return {
    saveGiveUp: after(world, "stopping", world.timing.saveGiveUpMs / 1000),
    ...(world.session.status?.stoppingAt === undefined
      ? { stoppingNote: after(world, "stopping", stoppingNoteSeconds) }
      : {}),
  };
}

function startDeadlines(world: SessionWorld): Deadlines {
  const { spec, status } = world.session;
  const pod = currentPod(world);
  const stuck = pod && unschedulable(pod);
  return {
    // The session is not to blame for the time in which no operator ran.
    start: after(world, "startedAt", spec.startDeadlineSeconds),
    ...(status?.placement && isNodeBehind(world)
      ? { download: after(world, "assignedAt", spec.downloadDeadlineSeconds) }
      : {}),
    ...(stuck
      ? { unschedulable: after(world, "unschedulableSince", world.timing.unschedulableMs / 1000) }
      : {}),
  };
}

/**
 * Returns the deadlines of a session that runs. The API moves `expiresAt` while keepalives come. Each move is
 * a sign of life, counted from when this process saw it: the time that `expiresAt` names is one of the
 * database's clock.
 */
function runDeadlines(world: SessionWorld): Deadlines {
  const { spec } = world.session;
  const idleSinceReady = after(world, "readyAt", spec.idleTimeoutSeconds);
  return {
    idle:
      spec.expiresAt === undefined
        ? idleSinceReady
        : Math.max(
            idleSinceReady,
            after(world, "expiresAt", spec.idleTimeoutSeconds * limits.gameSession.expiryMargin),
          ),
    maxDuration: after(world, "readyAt", spec.maxDurationSeconds),
  };
}

/**
 * Returns whether the session is being stopped. Where its spec asks for that, the pod's deletion may have
 * been refused so far.
 */
function hasStopBegun(world: Pick<SessionWorld, "session" | "pod">): boolean {
  return world.session.spec.desiredState === "Stopped" || stoppingSinceOf(world) !== undefined;
}

/**
 * Returns when the stop began, in milliseconds since 1970: by the status, else by the deletion of the pod or
 * of the session; undefined before it, and where only the spec asks for it.
 */
export function stoppingSinceOf(world: Pick<SessionWorld, "session" | "pod">): number | undefined {
  const { status, metadata } = world.session;
  if (status?.stoppingAt !== undefined) return Date.parse(status.stoppingAt);
  const pod = currentPod(world);
  const asked = pod && deletionAskedAt(pod);
  if (asked !== undefined) return asked;
  return metadata.deletionTimestamp === undefined ? undefined : Date.parse(metadata.deletionTimestamp);
}

/** A pod's deletionTimestamp is the end of its grace: the deletion was asked for one grace earlier. */
function deletionAskedAt({ metadata }: Pod): number | undefined {
  if (metadata.deletionTimestamp === undefined) return undefined;
  return Date.parse(metadata.deletionTimestamp) - (metadata.deletionGracePeriodSeconds ?? 0) * 1000;
}

/** Returns whether the deadline has passed. False if there is no deadline. */
export function isPast(deadline: number | undefined, { nowMs }: Pick<SessionWorld, "nowMs">): boolean {
  return deadline !== undefined && nowMs >= deadline;
}

/** Returns the milliseconds until the next deadline; undefined if there is none. */
export function nextDeadlineMs(
  deadlines: Deadlines,
  { nowMs }: Pick<SessionWorld, "nowMs">,
): number | undefined {
  const upcoming = Object.values(deadlines).flatMap((deadline: number) =>
    deadline > nowMs ? [deadline - nowMs] : [],
  );
  return upcoming.length === 0 ? undefined : Math.min(...upcoming);
}

function after({ seenAtMs }: SessionWorld, begin: Moment, seconds: number): number {
  return (seenAtMs[begin] ?? Number.POSITIVE_INFINITY) + seconds * 1000;
}

/**
 * Returns the moments of a session that something waits from. Another session of its name, or another pod,
 * may have the same times.
 */
export function notedMoments(session: Stored<GameSession>, pod: Stored<Pod> | undefined): NotedMoments {
  const {
    metadata: { uid },
    spec,
    status,
  } = session;
  if (isFinished(session)) return { finishedAt: uid };
  const stuck = pod && unschedulable(pod);
  return {
    ...(status?.startedAt === undefined ? {} : { startedAt: `${uid} ${status.startedAt}` }),
    ...(status?.placement === undefined ? {} : { assignedAt: `${uid} ${status.placement.assignedAt}` }),
    ...(stuck ? { unschedulableSince: `${pod.metadata.uid} ${stuck.since}` } : {}),
    ...(status?.readyAt === undefined ? {} : { readyAt: uid }),
    ...(spec.expiresAt === undefined ? {} : { expiresAt: `${uid} ${spec.expiresAt}` }),
    ...(hasStopBegun({ session, pod }) ? { stopping: uid } : {}),
  };
}

import type { GameSession } from "#contracts/crd/gameSession.ts";
import { isFinished } from "#contracts/crd/sessionState.ts";
import { limits } from "#contracts/limits.ts";
import type { Pod } from "#kube/api/builtin.ts";
import type { Stored } from "#kube/api/object.ts";
import { unschedulable } from "../../sessionPods/podState.ts";
import type { Moment, NotedMoments } from "./moments.ts";
import { currentPod, isNodeBehind, type SessionWorld } from "./world.ts";

/**
 * The times at which a session needs attention without any change, in milliseconds of this process's
 * monotonic clock. Each counts from when this operator observed its start.
 */
export interface Deadlines {
  /** The session was not ready in time. */
  start?: number;
  /** The current node has not prepared the game's files, or fetched the save, in time. */
  download?: number;
  /** The scheduler has not found room in time. */
  unschedulable?: number;
  /** No keepalive has arrived. The API usually notices first, in its database. */
  idle?: number;
  maxDuration?: number;
  /** The end that an admin has planned, by the wall clock, because players were told this time. */
  planned?: number;
  /**
   * The stop no longer waits for the game's end and the last save, so that a silent kubelet, agent or store
   * does not block the player.
   */
  saveGiveUp?: number;
  /** The stop no longer waits for the game's report. */
  reportGiveUp?: number;
  /** The status records the stop. Until then only the spec shows it. */
  stoppingNote?: number;
  /** The finished object is deleted. */
  expiry?: number;
}

/**
 * Most stops requested in the spec finish sooner and cost no write. A stop that takes longer must be visible,
 * because an admin who investigates it would otherwise see a running game.
 */
const stoppingNoteSeconds = 5;

/** The kubelet reports the end of a streamer within a second or two. */
const reportSeconds = 10;

/**
 * Returns the deadlines that apply to the session in its current state. Every state has one, except a
 * finished session that waits for the API's recorder.
 */
export function deadlinesOf(world: SessionWorld): Deadlines {
  const { session } = world;
  if (isFinished(session))
    return { expiry: after(world, "finishedAt", session.spec.ttlSecondsAfterFinished) };
  if (hasStopBegun(world)) return stopDeadlines(world);
  return {
    ...(session.status?.readyAt === undefined ? startDeadlines(world) : runDeadlines(world)),
    ...plannedDeadline(world),
  };
}

function plannedDeadline({ session: { spec }, now, nowMs }: SessionWorld): Deadlines {
  if (spec.plannedEnd === undefined) return {};
  return { planned: nowMs + Date.parse(spec.plannedEnd.at) - now.getTime() };
}

function stopDeadlines(world: SessionWorld): Deadlines {
  return {
    saveGiveUp: after(world, "stopping", world.timing.saveGiveUpMs / 1000),
    reportGiveUp: after(world, "stopping", reportSeconds),
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
    // Time in which no operator ran does not count against the session.
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
 * Returns the deadlines of a running session. The API advances `expiresAt` while keepalives arrive. Each
 * change counts as a sign of life from when this process observed it, because `expiresAt` is a time of the
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
 * Returns whether the session is being stopped. If the spec requests the stop, the pod's deletion may have
 * been refused so far.
 */
function hasStopBegun(world: Pick<SessionWorld, "session" | "pod">): boolean {
  return world.session.spec.desiredState === "Stopped" || stoppingSinceOf(world) !== undefined;
}

/**
 * Returns when the stop began, in milliseconds since 1970: from the status, else from the deletion of the pod
 * or the session. Undefined before a stop, and if only the spec requests it.
 */
export function stoppingSinceOf(world: Pick<SessionWorld, "session" | "pod">): number | undefined {
  const { status, metadata } = world.session;
  if (status?.stoppingAt !== undefined) return Date.parse(status.stoppingAt);
  const pod = currentPod(world);
  const asked = pod && deletionAskedAt(pod);
  if (asked !== undefined) return asked;
  return metadata.deletionTimestamp === undefined ? undefined : Date.parse(metadata.deletionTimestamp);
}

/** Returns when the pod's deletion was requested. Its deletionTimestamp is one grace period later. */
function deletionAskedAt({ metadata }: Pod): number | undefined {
  if (metadata.deletionTimestamp === undefined) return undefined;
  return Date.parse(metadata.deletionTimestamp) - (metadata.deletionGracePeriodSeconds ?? 0) * 1000;
}

/** Returns whether the deadline has passed. False without a deadline. */
export function isPast(deadline: number | undefined, { nowMs }: Pick<SessionWorld, "nowMs">): boolean {
  return deadline !== undefined && nowMs >= deadline;
}

/** Returns the milliseconds until the next deadline. Undefined without one. */
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
 * Returns the moments from which waits of the session are measured. Includes identities, because another
 * session or pod of the same name may have the same times.
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

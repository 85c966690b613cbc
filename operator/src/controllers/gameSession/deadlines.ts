import { isFinished } from "#contracts/crd/sessionConditions.ts";
import { limits } from "#contracts/limits.ts";
import type { Pod } from "#kube/builtin.ts";
import { unschedulable } from "../../sessionPods/podState.ts";
import type { Moment } from "./stopTimes.ts";
import { currentPod, isNodeBehind, type SessionWorld } from "./world.ts";

/** The moments at which time alone changes what has to be done, in milliseconds since 1970. */
export interface Deadlines {
  /** The session is not ready in time. */
  start?: number;
  /** The current node has not made the game's files ready, or fetched the save, in time. */
  download?: number;
  /** The scheduler has not found room in time. */
  unschedulable?: number;
  idle?: number;
  maxDuration?: number;
  /** The stop waits no longer for the game's end and the last save: the player shall not wait for a silent kubelet, agent or store. */
  saveGiveUp?: number;
  /** The finished object is deleted. */
  expiry?: number;
}

/** Returns the deadlines that apply to the session as it is. Every state has one, except that a finished session waits for the API's recorder. */
export function deadlinesOf(world: SessionWorld): Deadlines {
  const { session } = world;
  if (isFinished(session)) return { expiry: at(session.status?.finishedAt, session.spec.ttlSecondsAfterFinished) };
  const stoppingSince = stoppingSinceOf(world);
  if (stoppingSince !== undefined) return { saveGiveUp: (world.stopSeenAt?.getTime() ?? stoppingSince) + world.timing.saveGiveUpMs };
  return session.status?.readyAt === undefined ? startDeadlines(world) : runDeadlines(world);
}

function startDeadlines(world: SessionWorld): Deadlines {
  const { spec, status } = world.session;
  const pod = currentPod(world);
  const stuck = pod && unschedulable(pod);
  return {
    // The time counts from when an operator first saw the session: the API server's clock may differ, and the session is not to
    // blame for the time in which no operator ran.
    start: atSeen(world, "startedAt", status?.startedAt, spec.startDeadlineSeconds),
    ...(status?.placement && isNodeBehind(world)
      ? { download: atSeen(world, "assignedAt", status.placement.assignedAt, spec.downloadDeadlineSeconds) } : {}),
    ...(stuck ? { unschedulable: atSeen(world, "unschedulableSince", stuck.since, world.timing.unschedulableMs / 1000) } : {}),
  };
}

/** For the keepalives that the API could not pass on while the API server was unavailable: the next one of each player, and some seconds. */
const missedKeepalivesMs = 1.5 * limits.gameSession.keepaliveIntervalSeconds * 1000;

function runDeadlines({ session: { spec, status }, seenAt }: SessionWorld): Deadlines {
  const idleSinceReady = at(status?.readyAt, spec.idleTimeoutSeconds);
  const known = seenAt?.readyAt === undefined ? idleSinceReady : seenAt.readyAt.getTime() + missedKeepalivesMs;
  return {
    // The API ends idle sessions. An operator that has just begun does not know yet which of them are played.
    idle: Math.max(idleSinceReady, known, spec.expiresAt === undefined ? 0 : Date.parse(spec.expiresAt)),
    maxDuration: at(status?.readyAt, spec.maxDurationSeconds),
  };
}

/** Returns when the stop began, in milliseconds since 1970: by the status, else by the deletion of the pod or of the session; undefined before it. */
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

/** Returns whether the deadline, in milliseconds since 1970, has passed; false for none. */
export function isPast(deadline: number | undefined, now: Date): boolean {
  return deadline !== undefined && now.getTime() >= deadline;
}

/** Returns the milliseconds to the next deadline that is still to come, or undefined when none is. */
export function nextDeadlineMs(deadlines: Deadlines, now: Date): number | undefined {
  const upcoming = Object.values(deadlines).flatMap((deadline: number) => (deadline > now.getTime() ? [deadline - now.getTime()] : []));
  return upcoming.length === 0 ? undefined : Math.min(...upcoming);
}

/** Counts by this operator's own clock where it is known when the moment was first seen: a former leader, the scheduler and the API server have others. */
function atSeen({ seenAt }: SessionWorld, moment: Moment, recorded: string | undefined, seconds: number): number {
  const seen = seenAt?.[moment];
  return recorded === undefined || seen === undefined ? at(recorded, seconds) : seen.getTime() + seconds * 1000;
}

function at(since: string | undefined, seconds: number): number {
  return since === undefined ? Number.POSITIVE_INFINITY : Date.parse(since) + seconds * 1000;
}

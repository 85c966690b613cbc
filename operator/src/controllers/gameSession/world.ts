import type { Condition } from "#contracts/crd/kind.ts";
import type { GameSession } from "#contracts/crd/gameSession.ts";
import { podReadyReasons } from "#contracts/crd/gameSessionReasons.ts";
import { isPrepared } from "#contracts/crd/sessionState.ts";
import type { Pod } from "#kube/api/builtin.ts";
import { findCondition, isConditionTrue } from "#kube/api/conditions.ts";
import { isOwnedBy, type Stored } from "#kube/api/object.ts";
import type { Timing } from "../../config.ts";
import type { InternetPermission } from "../../networkProbe/networkProbe.ts";
import type { NodeHealth } from "../../nodes/nodeHealth.ts";
import type { SeenMoments } from "./moments.ts";
import type { PlayableStream } from "./streams.ts";
import { hasGameRun, hostPortsOf, nodeOfPod } from "../../sessionPods/podState.ts";

/** The observed state of one session in a pass. Decisions use nothing else. */
export interface SessionWorld {
  /** Wall-clock time, for recorded times. */
  now: Date;
  /** Monotonic time, for waits. */
  nowMs: number;
  /** When this operator first saw each moment that waits are measured from. */
  seenAtMs: SeenMoments;
  session: Stored<GameSession>;
  /** The pod that has the session's name, whoever created it. */
  pod: Stored<Pod> | undefined;
  /** Whether the node's agent lists the session's version as unpacked and verified. */
  isContentCached: boolean;
  /**
   * The streamer's report that the stream can be opened and the game runs. The kubelet may not have reported
   * it yet.
   */
  playable: PlayableStream | undefined;
  /** Whether the game has had no input for the time that the installation permits. */
  isInputIdle: boolean;
  /** When the game will have had no input for that time, in monotonic time. Undefined unless that is soon. */
  idleEndsAtMs: number | undefined;
  /** Health of the session's node. Healthy before a node is assigned. */
  nodeHealth: NodeHealth;
  /**
   * Whether the agent of the session's node is silent, regardless of the kubelet. False before a node is
   * assigned.
   */
  isAgentSilent: boolean;
  /** Whether a game may have internet access. Ignored for a session without network. */
  internet: InternetPermission;
  timing: Pick<Timing, "unschedulableMs" | "saveGiveUpMs">;
}

/**
 * Returns whether the node has the game's files ready, according to the agent's report in the session or the
 * GameNode.
 */
export function isContentUnpacked({
  session,
  isContentCached,
}: Pick<SessionWorld, "session" | "isContentCached">): boolean {
  return isContentCached || isConditionTrue(session.status?.conditions, "ContentReady");
}

/**
 * Returns whether the node has not prepared the files yet, reports that it cannot get the save, or has no
 * agent to prepare missing files.
 */
export function isNodeBehind(
  world: Pick<SessionWorld, "session" | "isContentCached" | "isAgentSilent">,
): boolean {
  const save = findCondition(world.session.status?.conditions, "SaveRestored");
  return (
    !isContentUnpacked(world) ||
    save?.status === "False" ||
    (world.isAgentSilent && !isPrepared(world.session))
  );
}

/**
 * Returns what prevents the creation of the session's pod because its game needs internet access. An existing
 * pod may continue.
 */
export function internetObstacle(world: SessionWorld): Exclude<InternetPermission, "Allowed"> | undefined {
  const { session, internet } = world;
  const isStarted = session.status?.podRef !== undefined || currentPod(world) !== undefined;
  return session.spec.network === "None" || isStarted || internet === "Allowed" ? undefined : internet;
}

/** Returns the API server's error for the session's pod. Undefined if there was none. */
export function podErrorOf(conditions: readonly Condition[] | undefined): string | undefined {
  const podReady = findCondition(conditions, "PodReady");
  return podReady?.reason === podReadyReasons.failedCreate ? podReady.message : undefined;
}

/**
 * Returns whether there may be progress to save. The game starts when files and save are ready, not with its
 * container.
 */
export function mayHavePlayed(world: SessionWorld): boolean {
  const pod = currentPod(world);
  return (
    world.session.status?.podRef !== undefined ||
    (isPrepared(world.session) && pod !== undefined && hasGameRun(pod))
  );
}

/** Returns whether the agent has stored the session's last save. */
export function isSavePersisted({ status }: GameSession): boolean {
  return isConditionTrue(status?.conditions, "SavePersisted");
}

/**
 * Returns the session's own pod at its current place. Undefined if the pod belongs to a former place or
 * another session.
 */
export function currentPod({ session, pod }: Pick<SessionWorld, "session" | "pod">): Stored<Pod> | undefined {
  return pod !== undefined && isOwnedBy(pod, session.metadata.uid) && isAtPlace(pod, session)
    ? pod
    : undefined;
}

/**
 * Returns the session's own pod if its game has run and the status names another place or none, because
 * somebody has edited the status. A session whose game has run is never moved, so the pod is right and the
 * status is wrong.
 */
export function strayPod({ session, pod }: Pick<SessionWorld, "session" | "pod">): Stored<Pod> | undefined {
  if (
    pod === undefined ||
    !isOwnedBy(pod, session.metadata.uid) ||
    isAtPlace(pod, session) ||
    !hasGameRun(pod)
  )
    return undefined;
  const { nodeName, podRef } = session.status ?? {};
  return nodeName === undefined || podRef?.uid === pod.metadata.uid ? pod : undefined;
}

/**
 * Returns a pod that has the name of the session's own pod but was created for a former place or a former
 * session.
 */
export function obsoletePod(world: SessionWorld): Stored<Pod> | undefined {
  return world.pod !== undefined && currentPod(world) === undefined ? world.pod : undefined;
}

function isAtPlace(pod: Stored<Pod>, { status }: GameSession): boolean {
  return (
    nodeOfPod(pod) === status?.nodeName &&
    (status?.ports === undefined || hostPortsOf(pod).includes(status.ports.media))
  );
}

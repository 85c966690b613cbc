import type { GameSession } from "#contracts/crd/gameSession.ts";
import { isPrepared } from "#contracts/crd/sessionConditions.ts";
import type { Pod } from "#kube/builtin.ts";
import { findCondition, isConditionTrue } from "#kube/conditions.ts";
import type { Stored } from "#kube/object.ts";
import type { Timing } from "../../config.ts";
import type { InternetPermission } from "../../networkProbe/networkProbe.ts";
import type { NodeHealth } from "../../nodes/nodeHealth.ts";
import { hasGameRun, hostPortsOf, isPodOf, nodeOfPod } from "../../sessionPods/podState.ts";

/** All that is observed about one session in a pass; decisions look at nothing else. */
export interface SessionWorld {
  now: Date;
  session: Stored<GameSession>;
  /** The pod of the session's name, whoever made it. */
  pod: Stored<Pod> | undefined;
  /** The node's agent lists the session's version as unpacked and verified. */
  isContentCached: boolean;
  /** The streamer said that the stream can be opened and the game runs, before the kubelet did. */
  isPlayable: boolean;
  /** Health of the session's node; Well before there is one. */
  nodeHealth: NodeHealth;
  /** Whether a game may have the internet; of no meaning to a session without network. */
  internet: InternetPermission;
  timing: Pick<Timing, "unschedulableMs" | "saveGiveUpMs">;
}

/** Whether the node has the game's files ready, by its agent's word on the session or on the game. */
export function isContentUnpacked({ session, isContentCached }: Pick<SessionWorld, "session" | "isContentCached">): boolean {
  return isContentCached || isConditionTrue(session.status?.conditions, "ContentReady");
}

/** Whether the node still owes the pod its files, or has said that it cannot get the save. */
export function isNodeBehind(world: Pick<SessionWorld, "session" | "isContentCached">): boolean {
  const save = findCondition(world.session.status?.conditions, "SaveRestored");
  return !isContentUnpacked(world) || save?.status === "False";
}

/** What keeps the session's pod from being made because of the network that its game needs; one that was made may go on. */
export function internetObstacle(world: SessionWorld): Exclude<InternetPermission, "Allowed"> | undefined {
  const { session, internet } = world;
  const isStarted = session.status?.podRef !== undefined || currentPod(world) !== undefined;
  return session.spec.network === "None" || isStarted || internet === "Allowed" ? undefined : internet;
}

/** Whether there may be progress to save: the game starts when files and save are ready, and not with its container. */
export function mayHavePlayed(world: SessionWorld): boolean {
  const pod = currentPod(world);
  return world.session.status?.podRef !== undefined || (isPrepared(world.session) && pod !== undefined && hasGameRun(pod));
}

/** Whether the agent has stored the session's last save. */
export function isSavePersisted({ status }: GameSession): boolean {
  return isConditionTrue(status?.conditions, "SavePersisted");
}

/** The session's own pod at the place it has now; a pod of a former place or of another session is not. */
export function currentPod({ session, pod }: SessionWorld): Stored<Pod> | undefined {
  return pod !== undefined && isPodOf(pod, session) && isAtPlace(pod, session) ? pod : undefined;
}

/** A pod that stands in the way of the session's own: made for a former place, or for a former session of the name. */
export function obsoletePod(world: SessionWorld): Stored<Pod> | undefined {
  return world.pod !== undefined && currentPod(world) === undefined ? world.pod : undefined;
}

function isAtPlace(pod: Stored<Pod>, { status }: GameSession): boolean {
  return nodeOfPod(pod) === status?.nodeName && (status?.ports === undefined || hostPortsOf(pod).includes(status.ports.media));
}

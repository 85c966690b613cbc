import type { GameSessionEventReason } from "#contracts/crd/gameSession.ts";
import {
  failureReasons,
  gameSessionEventReasons,
  scheduledReasons,
} from "#contracts/crd/gameSessionReasons.ts";
import { limits } from "#contracts/limits.ts";
import { addFinalizer, hasFinalizer } from "#kube/controllers/finalizers.ts";
import { finalizers } from "#contracts/crd/names.ts";
import { addressesOn } from "../../../nodes/addresses.ts";
import { gameStartedAt, hostPortsOf, missingImage, nodeOfPod } from "../../../sessionPods/podState.ts";
import type { Assignment, NoPlace } from "../assignments.ts";
import { contentFailed, failed, nodeLost, podRejection, type StopCause } from "../stopCauses.ts";
import { strayPod, type SessionWorld } from "../world.ts";
import type { StatusDraft } from "../statusDraft.ts";
import { noteStopping } from "./stop.ts";
import type { StepOutcome } from "#kube/controllers/reconciler.ts";
import type { Step, StepContext } from "./step.ts";

/**
 * Ensures that the session stays until its stop is complete. Sessions of the API have the API's finalizer for
 * that.
 */
export const holdSession: Step = async ({ world, deps, signal }): Promise<StepOutcome> => {
  if (hasFinalizer(world.session, finalizers.recorder)) return "done";
  world.session = await addFinalizer(deps.sessions, world.session, finalizers.operator, { signal });
  deps.cluster.gameSessions.upsert(world.session);
  return "done";
};

/** Assigns a node and a media port to the session, or reports why none is available yet. */
export const assignNode: Step = ({ world, draft, deps }) => {
  const place = deps.assignments.assign(world.session);
  if (isNoPlace(place)) {
    const isNews = draft.set("Scheduled", "False", place.reason, place.message);
    if (isNews) draft.event("Warning", place.reason, "Schedule", place.message);
    return "wait";
  }
  takePlace(draft, place, firstPlacement(world));
  draft.event(
    "Normal",
    gameSessionEventReasons.scheduled,
    "Schedule",
    `Placed on node ${place.nodeName} with media port ${place.mediaPort}.`,
  );
  return "wait";
};

/**
 * Moves the session to another node. If no node is available, the session is stopped, unless its agent is
 * only silent: the agent may return before the start deadline.
 */
export const moveToAnotherNode: Step = (context) => {
  const { world } = context;
  const cause = causeOfMove(world);
  const { reason = gameSessionEventReasons.moved, message = "" } = cause.failure ?? {};
  const noPlace = moveToUntriedNode(context, { reason, message });
  if (noPlace && (!world.isAgentSilent || reason !== failureReasons.downloadTimedOut))
    noteStopping(context, withoutAlternative(cause, noPlace));
  return "wait";
};

/**
 * Moves the session to a node that may be able to get the image. If no node is available, the session stays,
 * and its kubelet keeps trying until the start deadline.
 */
export const leaveForImage: Step = (context) => {
  const { world } = context;
  const why = (world.pod && missingImage(world.pod)) ?? "";
  const noPlace = moveToUntriedNode(context, {
    reason: gameSessionEventReasons.moved,
    message: `Node ${nodeNameOf(world)} cannot pull an image: ${why}`,
  });
  return noPlace ? "done" : "wait";
};

/**
 * Restores the place of the session's own pod in a status that lost it, and records that there may be
 * progress to save.
 */
export const adoptPod: Step = ({ world, draft, deps, logger }) => {
  const pod = strayPod(world);
  const nodeName = pod && nodeOfPod(pod);
  const [mediaPort] = pod ? hostPortsOf(pod) : [];
  if (pod === undefined || nodeName === undefined || mediaPort === undefined) return "wait";
  const [address] = addressesOn(nodeName, deps);
  takePlace(draft, { nodeName, mediaPort, address }, draft.status.placement ?? firstPlacement(world));
  draft.status.podRef = { name: pod.metadata.name, uid: pod.metadata.uid };
  draft.status.readyAt ??= gameStartedAt(pod) ?? world.now.toISOString();
  logger.warn(
    { node: nodeName },
    "The status of a session did not name its pod's node and port. It was corrected.",
  );
  draft.event(
    "Warning",
    gameSessionEventReasons.podAdopted,
    "Schedule",
    `The status did not say that the pod runs on node ${nodeName} with media port ${mediaPort}. It was corrected.`,
  );
  return "wait";
};

/**
 * Takes another media port on the same node for a pod that was refused because of its port. This does not
 * count as an attempt: a node may have hundreds of free ports.
 */
export const changePort: Step = (context) => {
  const { world, draft, deps } = context;
  const { status } = world.session;
  if (status?.nodeName === undefined || status.ports === undefined) return "wait";
  const place = deps.assignments.reassignPort(world.session, status.nodeName);
  if (isNoPlace(place)) {
    noteStopping(context, failed(place.reason, place.message));
    return "wait";
  }
  deps.assignments.avoid(status.nodeName, status.ports.media);
  takePlace(draft, place, status.placement ?? firstPlacement(world));
  draft.event(
    "Warning",
    gameSessionEventReasons.portTaken,
    "Schedule",
    `Media port ${status.ports.media} is in use on the node. Trying ${place.mediaPort}.`,
  );
  return "wait";
};

type Placement = NonNullable<StatusDraft["status"]["placement"]>;

function firstPlacement({ now }: SessionWorld): Placement {
  return { attempt: 1, assignedAt: now.toISOString(), triedNodes: [] };
}

function takePlace(draft: StatusDraft, place: Assignment, placement: Placement): void {
  const { status } = draft;
  status.nodeName = place.nodeName;
  status.ports = { media: place.mediaPort };
  status.placement = placement;
  delete status.podIp; // of the pod at the former place
  if (place.address === undefined) delete status.address;
  else status.address = place.address;
  draft.set("Scheduled", "True", scheduledReasons.nodeAssigned, `Node ${place.nodeName} was selected.`);
}

/**
 * Moves the session to a node that it has not tried and records why. Returns the reason if no node is
 * available.
 */
function moveToUntriedNode(
  { world, draft, deps }: StepContext,
  { reason, message }: { reason: GameSessionEventReason; message: string },
): NoPlace | undefined {
  const triedNodes = [
    ...new Set([...(world.session.status?.placement?.triedNodes ?? []), nodeNameOf(world)]),
  ];
  const place = deps.assignments.assign(world.session, triedNodes);
  if (isNoPlace(place)) return place;
  takePlace(draft, place, { attempt: nextAttempt(world), assignedAt: world.now.toISOString(), triedNodes });
  draft.resetAgentConditions();
  draft.event("Warning", reason, "Schedule", `${message} Trying node ${place.nodeName}.`.trim());
  return undefined;
}

function nodeNameOf({ session }: SessionWorld): string {
  return session.status?.nodeName ?? "";
}

function nextAttempt({ session }: SessionWorld): number {
  return Math.min(limits.gameSession.placementAttempts, (session.status?.placement?.attempt ?? 1) + 1);
}

/** Returns the most certain cause: the pod was refused, the node is lost, or a deadline has passed. */
function causeOfMove(world: SessionWorld): StopCause {
  const nodeName = nodeNameOf(world);
  const rejected = podRejection(world);
  if (rejected)
    return failed(failureReasons.podRefused, `Node ${nodeName} has no room for the pod: ${rejected.message}`);
  return world.nodeHealth === "Lost" ? nodeLost(nodeName) : contentFailed(world);
}

function withoutAlternative(cause: StopCause, { message }: NoPlace): StopCause {
  if (!cause.failure) return cause;
  return {
    ...cause,
    failure: {
      ...cause.failure,
      message: `${cause.failure.message} No other node: ${message}`.slice(0, 1024),
    },
  };
}

function isNoPlace(place: Assignment | NoPlace): place is NoPlace {
  return "reason" in place;
}

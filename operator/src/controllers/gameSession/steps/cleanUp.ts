import { ignoreDeleted } from "#kube/api/errors.ts";
import { hasFinalizer, isDeleting, removeFinalizer } from "#kube/controllers/finalizers.ts";
import { isOwnedBy } from "#kube/api/object.ts";
import { finalizers } from "#contracts/crd/names.ts";
import { deadlinesOf, isPast } from "../deadlines.ts";
import type { Step, StepOutcome } from "./step.ts";

/**
 * Deletes the finished session's pod and removes its finalizer, but never by force: on a node that cannot be
 * reached the object stays, and with it slot and port, until the kubelet is back or the cluster has removed
 * the node.
 */
export const releasePod: Step = async ({ world: { pod, session }, deps, signal }): Promise<StepOutcome> => {
  if (!pod || !isOwnedBy(pod, session.metadata.uid)) return "done";
  if (!isDeleting(pod))
    await deps.pods.delete(pod.metadata, { uid: pod.metadata.uid, signal }).catch(ignoreDeleted);
  if (hasFinalizer(pod, finalizers.usage))
    await removeFinalizer(deps.pods, pod, finalizers.usage, { signal });
  return "done";
};

/** Removes the operator's finalizer from a deleted session. */
export const releaseSession: Step = async ({ world: { session }, deps, signal }): Promise<StepOutcome> => {
  if (!isDeleting(session) || !hasFinalizer(session, finalizers.operator)) return "done";
  await removeFinalizer(deps.sessions, session, finalizers.operator, { signal });
  return "wait";
};

/**
 * Deletes the finished session when its time to live is over; the API's finalizer keeps it until it is
 * recorded.
 */
export const deleteExpired: Step = async ({ world, deps, signal, logger }): Promise<StepOutcome> => {
  const { session } = world;
  if (isDeleting(session) || !isPast(deadlinesOf(world).expiry, world)) return "wait";
  await deps.sessions.delete(session.metadata, { uid: session.metadata.uid, signal }).catch(ignoreDeleted);
  logger.info({}, "A finished session is deleted.");
  return "wait";
};

import { fieldManagers, finalizers } from "#contracts/crd/names.ts";
import { isFinished } from "#contracts/crd/sessionState.ts";
import { ignoreDeleted, isConflict } from "#kube/api/errors.ts";
import { keyOf, refOf } from "#kube/api/object.ts";
import type { Reconcile } from "#kube/controllers/controller.ts";
import { isDeleting, removeFinalizer } from "#kube/controllers/finalizers.ts";
import { createReconciler, soonestMs, writeStatus, type Step } from "#kube/controllers/reconciler.ts";
import { isContentCached } from "../../content/fill.ts";
import { isSessionPod } from "../../sessionPods/podState.ts";
import { deadlinesOf, nextDeadlineMs, notedMoments } from "./deadlines.ts";
import { planFor, reliesOnAbsentPod, type Plan, type StepName } from "./decide.ts";
import { type OperatorStatus, StatusDraft } from "./statusDraft.ts";
import {
  awaitGameEnd,
  awaitSave,
  deleteExpired,
  deletePod,
  finish,
  recordStopping,
  releasePod,
  releaseSession,
} from "./steps/stop.ts";
import {
  adoptPod,
  assignNode,
  changePort,
  holdSession,
  leaveForImage,
  moveToAnotherNode,
} from "./steps/place.ts";
import { awaitContent, awaitNetwork, createPod, removeObsoletePod, reportReadiness } from "./steps/start.ts";
import type { SessionDeps, StepContext } from "./steps/step.ts";
import type { SessionWorld } from "./world.ts";

/** Maximum interval between passes for a session that waits for a slot. */
const unplacedRetryMs = 5000;
/** Maximum interval between passes for a session whose node's health signals disagree. */
const unknownRetryMs = 5000;

const steps: Record<StepName, Step<StepContext>> = {
  holdSession,
  assignNode,
  adoptPod,
  moveToAnotherNode,
  leaveForImage,
  changePort,
  awaitContent,
  awaitNetwork,
  createPod,
  reportReadiness,
  removeObsoletePod,
  recordStopping,
  deletePod,
  awaitGameEnd,
  awaitSave,
  finish,
  releasePod,
  releaseSession,
  deleteExpired,
};

/** Returns a reconcile that observes one session, plans, takes the steps, and writes the status once. */
export function createSessionReconciler(deps: SessionDeps): Reconcile {
  return createReconciler<SessionWorld, Plan, StepName, StepContext>({
    async observe(key, { signal }) {
      const seen = observe(key, deps);
      if (!seen) return removeOrphan(key, deps, signal);
      return (await recoverMissedPod(seen, deps, signal)) ? (observe(key, deps) ?? seen) : seen;
    },
    decide: planFor,
    begin: (world, { cause }, { signal, logger }) => ({
      world,
      draft: StatusDraft.from(world.session, world.now),
      cause,
      deps,
      signal,
      logger: logger.child({ gameSession: world.session.metadata.name, user: world.session.spec.userId }),
    }),
    steps,
    commit,
    nextLookMs: ({ world }) => nextLookMs(world, deps),
  });
}

/**
 * Writes the status, then records the related events and counts. Returns false if the session has changed
 * since it was observed.
 *
 * @throws the failure that a step has left in the draft
 */
async function commit({ world, draft, deps, signal }: StepContext): Promise<boolean> {
  if (!(await patchStatus(world, draft, deps, signal))) return false;
  for (const event of draft.events) deps.events.record(world.session, event);
  for (const count of draft.counts) count(deps.metrics);
  if (draft.failure) throw draft.failure;
  return true;
}

function observe(
  key: string,
  {
    cluster,
    heartbeats,
    nodeLosses,
    moments,
    streams,
    inputIdleness,
    networkProbe,
    clock,
    config,
  }: SessionDeps,
): SessionWorld | undefined {
  const session = cluster.gameSessions.get(key);
  if (!session) {
    moments.forget(key);
    return undefined;
  }
  const nodeName = session.status?.nodeName;
  const pod = cluster.pods.get(key);
  const nowMs = clock.monotonicMs();
  return {
    now: clock.now(),
    nowMs,
    seenAtMs: moments.note(key, notedMoments(session, pod), nowMs),
    session,
    pod,
    isContentCached: isContentCached(cluster, session),
    playable: pod && streams.playable(pod),
    isInputIdle: pod !== undefined && inputIdleness.isIdle(pod),
    idleEndsAtMs: pod && inputIdleness.endsAtMs(pod),
    nodeHealth: nodeName === undefined ? "Healthy" : nodeLosses.healthOf(nodeName),
    isAgentSilent: nodeName !== undefined && !heartbeats.isFresh(nodeName),
    internet: networkProbe.permission,
    timing: config.timing,
  };
}

/**
 * Returns whether the API server has a pod that an earlier pass may have created and the watch has not shown.
 * Checked only if missing the pod would stop or move a running game.
 */
async function recoverMissedPod(
  world: SessionWorld,
  { cluster, pods }: SessionDeps,
  signal: AbortSignal,
): Promise<boolean> {
  const { session, pod } = world;
  if (
    pod ||
    session.status?.nodeName === undefined ||
    isFinished(session) ||
    !reliesOnAbsentPod(planFor(world))
  )
    return false;
  const live = await pods.find(session.metadata, { signal });
  if (!live) return false;
  cluster.pods.upsert(live);
  return true;
}

/**
 * Writes the status if the session is unchanged since it was observed. Returns false if it has changed, and
 * the pass must be repeated.
 */
async function patchStatus(
  { session, pod, nowMs }: SessionWorld,
  draft: StatusDraft,
  deps: SessionDeps,
  signal: AbortSignal,
): Promise<boolean> {
  const status = draft.close();
  if (!status) return true;
  const isWritten = await isStatusWritten(session, status, draft, deps, signal);
  // Moments noted by this pass began with it, not with the next one. If the write failed, none of them began
  // or ended.
  if (isWritten) deps.moments.note(keyOf(session), notedMoments({ ...session, status }, pod), nowMs);
  return isWritten;
}

async function isStatusWritten(
  { metadata }: SessionWorld["session"],
  status: OperatorStatus,
  draft: StatusDraft,
  deps: SessionDeps,
  signal: AbortSignal,
): Promise<boolean> {
  const { name, namespace, resourceVersion } = metadata;
  const cache = deps.cluster.gameSessions;
  try {
    const intent = { metadata: { name, namespace, resourceVersion }, status };
    await writeStatus(deps.sessions, intent, { fieldManager: fieldManagers.operator, signal, cache });
    return true;
  } catch (error) {
    if (!isConflict(error)) throw error;
    const live = await deps.sessions.find(metadata, { signal });
    if (live) cache.upsert(live);
    return live?.metadata.uid === metadata.uid && draft.isWritten(status, live.status);
  }
}

/** Removes the pod of a force-deleted session, which the operator's finalizer still keeps. */
async function removeOrphan(key: string, deps: SessionDeps, signal: AbortSignal): Promise<undefined> {
  const pod = deps.cluster.pods.get(key);
  if (!pod || !isSessionPod(pod)) return undefined;
  const live = await deps.sessions.find(refOf(key), { signal });
  if (live) {
    deps.cluster.gameSessions.upsert(live);
    return undefined;
  }
  if (!isDeleting(pod))
    await deps.pods.delete(pod.metadata, { uid: pod.metadata.uid, signal }).catch(ignoreDeleted);
  await removeFinalizer(deps.pods, pod, finalizers.usage, { signal });
  return undefined;
}

/** Returns the milliseconds until the next deadline or the next periodic pass. */
function nextLookMs(world: SessionWorld, { heartbeats }: SessionDeps): number | undefined {
  const { session, nodeHealth } = world;
  const deadlineMs = nextDeadlineMs(deadlinesOf(world), world);
  if (isFinished(session)) return deadlineMs;
  const { nodeName } = session.status ?? {};
  if (nodeName === undefined) return soonestMs([deadlineMs, unplacedRetryMs]);
  if (nodeHealth !== "Unknown") return soonestMs([deadlineMs]);
  return soonestMs([deadlineMs, heartbeats.staleInMs(nodeName) || unknownRetryMs]);
}

import { finalizers } from "#contracts/crd/names.ts";
import {
  acceleratedReasons,
  gameSessionEventReasons,
  podReadyReasons,
  readyReasons,
  streamReadyReasons,
  unsetReasons,
} from "#contracts/crd/gameSessionReasons.ts";
import { isFinished, isPrepared } from "#contracts/crd/sessionState.ts";
import type { RenderingObstacle } from "#contracts/stream.ts";
import { codecEncodingNames } from "#contracts/videoCodec.ts";
import { isConditionTrue } from "#kube/api/conditions.ts";
import {
  isAlreadyExists,
  isConflict,
  isKubeError,
  isNotFound,
  isRefused,
  type KubeError,
} from "#kube/api/errors.ts";
import { isOwnedBy } from "#kube/api/object.ts";
import { isDeleting, removeFinalizer } from "#kube/controllers/finalizers.ts";
import { addressesOn } from "../../../nodes/addresses.ts";
import {
  isInterrupted,
  isReady,
  isSessionPod,
  isStreamerReady,
  isStreamerRunning,
  waitingFor,
} from "../../../sessionPods/podState.ts";
import { buildPod } from "../pod.ts";
import { currentPod, obsoletePod, podErrorOf, type SessionWorld } from "../world.ts";
import type { StepOutcome } from "#kube/controllers/reconciler.ts";
import type { Step, StepContext } from "./step.ts";

/** Waits for the node agent, whose report brings the next pass. */
export const awaitContent: Step = () => "wait";

/** Waits for the network probe, whose result brings the next pass. */
export const awaitNetwork: Step = () => "wait";

/** Creates the session's pod at the place that its status names. */
export const createPod: Step = async (context): Promise<StepOutcome> => {
  const { world, draft, deps, signal, logger } = context;
  if (currentPod(world)) {
    forgetPodError(draft);
    return "done";
  }
  const { status } = world.session;
  if (status?.nodeName === undefined || status.ports === undefined) return "wait";
  if (!(await isStillWanted(context))) return "wait";
  const {
    nodeName,
    ports: { media: mediaPort },
  } = status;
  const place = {
    nodeName,
    mediaPort,
    addresses: addressesOn(nodeName, deps),
    operatorPublicKey: deps.tickets.publicKey,
  };
  try {
    const pod = await deps.pods.create(buildPod(world.session, place, deps.config.sessionPod), { signal });
    deps.cluster.pods.upsert(pod);
    // It was the address of a pod that is gone, and another session's pod may have it by now.
    delete draft.status.podIp;
    logger.info({ node: place.nodeName, mediaPort: place.mediaPort }, "The session's pod was created.");
    draft.event(
      "Normal",
      gameSessionEventReasons.podCreated,
      "Start",
      `The game's files are on node ${place.nodeName}. The pod was created.`,
    );
  } catch (error) {
    if (!isKubeError(error) || error.status === undefined) throw error;
    if (!isAlreadyExists(error)) return notePodError(draft, error);
    // An earlier pass created it, and neither its response nor its watch event has come: the next pass sees
    // what is there.
    const existing = await deps.pods.find(world.session.metadata, { signal });
    if (existing) deps.cluster.pods.upsert(existing);
  }
  return "wait";
};

/**
 * Tells with which words the API server refuses the pod, or fails to make it. The cause may be put right, so
 * it is tried again as after any failure.
 */
function notePodError(draft: StepContext["draft"], error: KubeError): StepOutcome {
  const message = `The API server ${isRefused(error) ? "rejected" : "could not create"} the session's pod: ${error.message}`;
  const isNews = draft.set("PodReady", "False", podReadyReasons.failedCreate, message);
  if (isNews) draft.event("Warning", podReadyReasons.failedCreate, "Start", message);
  draft.failure = error;
  return "wait";
}

function forgetPodError(draft: StepContext["draft"]): void {
  if (podErrorOf(draft.status.conditions) !== undefined)
    draft.set("PodReady", "Unknown", unsetReasons.pending, "The pod was created.");
}

/**
 * Asks the API server whether the session was stopped, moved or deleted a moment ago: nobody would play what
 * its pod runs.
 */
async function isStillWanted({ world, deps, signal }: StepContext): Promise<boolean> {
  const live = await deps.sessions.find(world.session.metadata, { signal });
  if (live) deps.cluster.gameSessions.upsert(live);
  return (
    live?.metadata.uid === world.session.metadata.uid &&
    !isDeleting(live) &&
    !isFinished(live) &&
    live.spec.desiredState === "Running" &&
    live.status?.stoppingAt === undefined &&
    live.status?.nodeName === world.session.status?.nodeName &&
    live.status?.ports?.media === world.session.status?.ports?.media
  );
}

/** Reports in the status whether the stream can be opened. */
export const reportReadiness: Step = ({ world, draft }) => {
  const pod = currentPod(world);
  if (!pod) return "wait";
  const { status } = draft;
  // The address is published before the session is ready: the browser connects while the game starts.
  if (isStreamerRunning(pod) && pod.status?.podIP !== undefined) status.podIp = pod.status.podIP;
  // The streamer is believed for the first time only: after that the kubelet has caught up, and it reports
  // interruptions.
  const isPlayable = isReady(pod) || (world.playable !== undefined && status.readyAt === undefined);
  if (!isPlayable || !isPrepared(world.session)) {
    // Before the first time nothing is written: the status says "not yet" anyway.
    const wasReady = isConditionTrue(status.conditions, "Ready");
    if (wasReady && isInterrupted(pod))
      reportInterruption({ draft, isStreaming: isStreamerReady(pod), why: waitingFor(pod) });
    return "wait";
  }
  status.podRef = { name: pod.metadata.name, uid: pod.metadata.uid };
  draft.set("PodReady", "True", podReadyReasons.containersReady, "The streamer and the game are running.");
  draft.set("StreamReady", "True", streamReadyReasons.streamerReady, "The streamer accepts viewers.");
  const wasReady = isConditionTrue(status.conditions, "Ready");
  draft.set("Ready", "True", readyReasons.streaming, "The game can be played.");
  // With the write that says that it is ready, and with one of its own where the kubelet was quicker than the
  // streamer's response.
  if (status.stream === undefined) reportStream(world, draft);
  if (status.readyAt === undefined) {
    status.readyAt = world.now.toISOString();
    const seconds = (world.nowMs - (world.seenAtMs.startedAt ?? world.nowMs)) / 1000;
    draft.count((metrics) => metrics.sessionReady(seconds));
  }
  if (!wasReady)
    draft.event(
      "Normal",
      gameSessionEventReasons.ready,
      "Start",
      `The stream is ready on ${status.address ?? ""}:${status.ports?.media ?? ""}.`,
    );
  return "wait";
};

function reportInterruption({
  draft,
  isStreaming,
  why,
}: {
  draft: StepContext["draft"];
  isStreaming: boolean;
  why: string;
}): void {
  draft.set("PodReady", "False", podReadyReasons.containersNotReady, why);
  if (!isStreaming) draft.set("StreamReady", "False", streamReadyReasons.streamerNotReady, why);
  draft.set("Ready", "False", readyReasons.interrupted, why);
  draft.event("Warning", readyReasons.interrupted, "Stream", why);
}

/**
 * Removes a pod that has the name of the session's own. A pod that no session made is left alone: the session
 * then fails at its start deadline.
 */
export const removeObsoletePod: Step = async (context): Promise<StepOutcome> => {
  const { world, deps, signal, logger } = context;
  if (obsoletePod(world) === undefined) return "wait";
  const now = await lookAgain(context);
  const pod = now && obsoletePod(now);
  if (!pod || !(isOwnedBy(pod, now.session.metadata.uid) || isSessionPod(pod))) return "wait";
  const { uid, resourceVersion } = pod.metadata;
  if (!isDeleting(pod)) {
    try {
      await deps.pods.delete(pod.metadata, { uid, resourceVersion, signal });
      logger.info({ node: pod.spec?.nodeName }, "Removed a pod from an earlier placement.");
    } catch (error) {
      // It has changed or is gone: the watch will show it, and the next pass looks again.
      if (isNotFound(error) || isConflict(error)) return "wait";
      throw error;
    }
  }
  await removeFinalizer(deps.pods, pod, finalizers.usage, { signal });
  return "wait";
};

/**
 * Returns the world with the session and its pod as the API server has them; undefined without a session. The
 * pod is read first: a session is moved before its next pod is made, so a pod that does not fit the session
 * that was read later is of a former place.
 */
async function lookAgain({ world, deps, signal }: StepContext): Promise<SessionWorld | undefined> {
  const pod = await deps.pods.find(world.session.metadata, { signal });
  const session = await deps.sessions.find(world.session.metadata, { signal });
  if (pod) deps.cluster.pods.upsert(pod);
  if (session) deps.cluster.gameSessions.upsert(session);
  return session && { ...world, session, pod };
}

const messages: Record<RenderingObstacle, string> = {
  NoRenderNode: "The streamer has no render node (/dev/dri/renderD*).",
  DisplayFailed: "The accelerated display did not start. See the streamer's log.",
  SoftwareRenderer: "A render node exists, but OpenGL renders in software because its driver is missing.",
  ProbeFailed: "A test image drawn with OpenGL or Vulkan was not captured correctly. See the streamer's log.",
};

/** Notes what the streamer found to make the stream; nothing of a streamer that has not said it yet. */
export function reportStream({ session, playable }: SessionWorld, draft: StepContext["draft"]): void {
  if (playable?.picture === undefined) return;
  const {
    encoder,
    codec,
    picture: { renderer, width, height, maxFps, obstacle },
  } = playable;
  draft.status.stream = { renderer, encoder, codec: codecEncodingNames[codec], width, height, fps: maxFps };
  if (session.spec.profile !== "Gpu") return;
  if (obstacle === undefined) {
    draft.set("Accelerated", "True", acceleratedReasons.rendersOnGpu, `The session renders on ${renderer}.`);
    return;
  }
  const message = messages[obstacle];
  draft.set("Accelerated", "False", obstacle, `${message} The session renders in software.`);
  draft.event(
    "Warning",
    obstacle,
    "Start",
    `The session should use a GPU but renders in software. ${message}`,
  );
  draft.count((metrics) => metrics.sessionUnaccelerated(obstacle));
}

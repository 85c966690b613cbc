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
import type { StatusDraft } from "../statusDraft.ts";
import type { Step, StepContext } from "./step.ts";

/** Waits for the node agent, whose report triggers the next pass. */
export const awaitContent: Step = () => "wait";

/** Waits for the network probe, whose result triggers the next pass. */
export const awaitNetwork: Step = () => "wait";

/** Creates the session's pod at the place named in its status. */
export const createPod: Step = async (context): Promise<StepOutcome> => {
  const { world, draft, deps, signal, logger } = context;
  if (currentPod(world)) {
    forgetPodError(draft);
    return "done";
  }
  const { status } = world.session;
  if (status?.nodeName === undefined || status.ports === undefined) return "wait";
  if (!(await isPodStillNeeded(context))) return "wait";
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
    // The address belonged to a deleted pod and may now belong to another session's pod.
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
    // An earlier pass created it, but neither the response nor the watch event has arrived. The next pass
    // observes it.
    const existing = await deps.pods.find(world.session.metadata, { signal });
    if (existing) deps.cluster.pods.upsert(existing);
  }
  return "wait";
};

/**
 * Reports the API server's error for the pod. The cause may be fixed, so creation is retried like any
 * failure.
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
 * Checks with the API server whether the session was stopped, moved or deleted a moment ago. A pod for it
 * would run for nobody.
 */
async function isPodStillNeeded({ world, deps, signal }: StepContext): Promise<boolean> {
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
  // The address is published before the session is ready, because the browser connects while the game starts.
  if (isStreamerRunning(pod) && pod.status?.podIP !== undefined) status.podIp = pod.status.podIP;
  // The streamer's report counts only the first time. After that the kubelet has caught up, and it also
  // reports interruptions.
  const isPlayable = isReady(pod) || (world.playable !== undefined && status.readyAt === undefined);
  if (!isPlayable || !isPrepared(world.session)) {
    // Nothing is written before the first time, because the status already says that the session is not
    // ready.
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
  // Written together with readiness, or separately if the kubelet reported before the streamer responded.
  if (status.stream === undefined) reportStream(world, draft);
  if (status.readyAt === undefined) {
    status.readyAt = world.now.toISOString();
    const seconds = (world.nowMs - (world.seenAtMs.startedAt ?? world.nowMs)) / 1000;
    draft.count((metrics) => metrics.sessionReady(seconds));
  }
  reportIdleEnd(world, draft);
  if (!wasReady)
    draft.event(
      "Normal",
      gameSessionEventReasons.ready,
      "Start",
      `The stream is ready on ${status.address ?? ""}:${status.ports?.media ?? ""}.`,
    );
  return "wait";
};

/** Writes once when the session will end without input, and removes it after input. */
function reportIdleEnd({ idleEndsAtMs, now, nowMs }: SessionWorld, { status }: StatusDraft): void {
  if (idleEndsAtMs === undefined) delete status.idleEndsAt;
  else status.idleEndsAt ??= new Date(now.getTime() + idleEndsAtMs - nowMs).toISOString();
}

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
 * Removes a pod that has the name of the session's own. A pod that does not belong to any session is left
 * alone, and the session fails at its start deadline.
 */
export const removeObsoletePod: Step = async (context): Promise<StepOutcome> => {
  const { world, deps, signal, logger } = context;
  if (obsoletePod(world) === undefined) return "wait";
  const now = await refetchWorld(context);
  const pod = now && obsoletePod(now);
  if (!pod || !(isOwnedBy(pod, now.session.metadata.uid) || isSessionPod(pod))) return "wait";
  const { uid, resourceVersion } = pod.metadata;
  if (!isDeleting(pod)) {
    try {
      await deps.pods.delete(pod.metadata, { uid, resourceVersion, signal });
      logger.info({ node: pod.spec?.nodeName }, "Removed a pod from an earlier placement.");
    } catch (error) {
      // The pod has changed or is gone. The watch will show it, and the next pass decides again.
      if (isNotFound(error) || isConflict(error)) return "wait";
      throw error;
    }
  }
  await removeFinalizer(deps.pods, pod, finalizers.usage, { signal });
  return "wait";
};

/**
 * Returns the world with the session and pod as the API server has them. Undefined if the session is gone.
 * The pod is read first: a session is moved before its next pod is created, so a pod that does not match the
 * session read afterwards belongs to a former place.
 */
async function refetchWorld({ world, deps, signal }: StepContext): Promise<SessionWorld | undefined> {
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

/** Records the streamer's report of the stream. Does nothing before the streamer has reported. */
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

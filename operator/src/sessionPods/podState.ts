import { constants } from "node:os";
import type { GameEnd, GameExit } from "#contracts/crd/gameSession.ts";
import { labels } from "#contracts/crd/names.ts";
import {
  parseGameTermination,
  parseStreamerTermination,
  type GameTermination,
  type StreamMeasurement,
} from "#contracts/termination.ts";
import { type Pod, isTerminal } from "#kube/api/builtin.ts";
import { containerNames } from "#contracts/nodeLayout.ts";

type ContainerStatus = NonNullable<NonNullable<Pod["status"]>["containerStatuses"]>[number];
type Terminated = NonNullable<NonNullable<ContainerStatus["state"]>["terminated"]>;

/** A container's exit code after signal N is this plus N; a shell passes on such a code of its child. */
const signalBase = 128;
const signalNames: ReadonlyMap<number, string> = new Map(
  Object.entries(constants.signals)
    .toReversed() // Aliases such as SIGIOT come after the usual name.
    .map(([name, number]) => [number, name]),
);

/** Returns whether the pod was created for a session. */
export function isSessionPod(pod: Pod): boolean {
  return pod.metadata.labels?.[labels.gameSession] === pod.metadata.name;
}

/** Returns the node that the pod runs on, or is pinned to until the scheduler has bound it. */
export function nodeOfPod(pod: Pod): string | undefined {
  if (pod.spec?.nodeName !== undefined) return pod.spec.nodeName;
  const terms =
    pod.spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  return terms.flatMap((term) => term.matchFields ?? []).find((field) => field.key === "metadata.name")
    ?.values?.[0];
}

/** Returns the pod's UDP host ports. */
export function hostPortsOf(pod: Pod): number[] {
  return (pod.spec?.containers ?? [])
    .flatMap((container) => container.ports ?? [])
    .flatMap((port) => (port.hostPort === undefined || port.protocol !== "UDP" ? [] : [port.hostPort]));
}

/** Returns whether streamer and game run and the stream can be opened. */
export function isReady(pod: Pod): boolean {
  return (
    pod.status?.conditions?.some((condition) => condition.type === "Ready" && condition.status === "True") ??
    false
  );
}

/**
 * Returns whether the pod was ready and no longer is. False for a pod that has just started, because the
 * kubelet reports readiness with a delay. False also if all containers are ready: then the cluster's node
 * controller marked the pod because its kubelet is silent.
 */
export function isInterrupted(pod: Pod): boolean {
  const ready = pod.status?.conditions?.find(({ type }) => type === "Ready");
  const areContainersReady =
    pod.status?.conditions?.some(({ type, status }) => type === "ContainersReady" && status === "True") ??
    false;
  const startedAt = gameStatus(pod)?.state?.running?.startedAt;
  if (ready?.status === "True" || areContainersReady) return false;
  if (startedAt === undefined) return gameTerminated(pod) !== undefined;
  return (
    ready?.lastTransitionTime !== undefined &&
    Date.parse(ready.lastTransitionTime) > new Date(startedAt).getTime()
  );
}

/** Returns whether the streamer passes its readiness probe. */
export function isStreamerReady(pod: Pod): boolean {
  return streamerStatus(pod)?.ready ?? false;
}

/** Returns whether the streamer's container runs, ready or not. */
export function isStreamerRunning(pod: Pod): boolean {
  return streamerStatus(pod)?.state?.running !== undefined;
}

/** Returns how the game's container ended. Undefined before that. */
export function gameTerminated(pod: Pod): Terminated | undefined {
  return gameStatus(pod)?.state?.terminated;
}

/** Returns whether the game has ended in this pod and will not run in it again. */
export function isGameOver(pod: Pod): boolean {
  const wasNeverBound = pod.metadata.deletionTimestamp !== undefined && pod.spec?.nodeName === undefined;
  return gameTerminated(pod) !== undefined || isTerminal(pod) || wasNeverBound;
}

/** Returns when the game's container was started. Undefined before that. */
export function gameStartedAt(pod: Pod): string | undefined {
  const { running, terminated } = gameStatus(pod)?.state ?? {};
  const startedAt = running?.startedAt ?? terminated?.startedAt;
  return startedAt === undefined ? undefined : new Date(startedAt).toISOString();
}

/** Returns whether the game's process has run, so a save may exist. */
export function hasGameRun(pod: Pod): boolean {
  const status = gameStatus(pod);
  const ended = status?.state?.terminated;
  // The kubelet writes this reason for a container that it never started.
  return (
    status?.state?.running !== undefined ||
    (ended !== undefined && ended.reason !== "ContainerStatusUnknown") ||
    status?.lastState?.terminated !== undefined
  );
}

/**
 * Returns the game's last termination report, from the game's container or else from the streamer's.
 * Undefined without one.
 */
export function gameTerminationReport(pod: Pod): GameTermination | undefined {
  const game = gameStatus(pod);
  for (const ended of [game?.state?.terminated, game?.lastState?.terminated]) {
    const report = parseGameTermination(ended?.message ?? "");
    if (report) return report;
  }
  const streamer = streamerStatus(pod);
  for (const ended of [streamer?.state?.terminated, streamer?.lastState?.terminated]) {
    const report = parseStreamerTermination(ended?.message ?? "")?.game;
    if (report) return report;
  }
  return undefined;
}

/** Returns what the streamer measured, which is untrusted. Undefined if it does not say. */
export function streamMeasurementOf(pod: Pod): StreamMeasurement | undefined {
  const streamer = streamerStatus(pod);
  for (const ended of [streamer?.state?.terminated, streamer?.lastState?.terminated]) {
    const measured = parseStreamerTermination(ended?.message ?? "")?.stream;
    if (measured) return measured;
  }
  return undefined;
}

/**
 * Returns the exit code of the game's container, or else the one that the game claims. Undefined if neither
 * is known.
 */
export function gameExitOf(pod: Pod): GameExit | undefined {
  const code = gameTerminated(pod)?.exitCode ?? gameTerminationReport(pod)?.exitCode ?? undefined;
  if (code === undefined || code < 0 || code > 255) return undefined;
  const signal = code > signalBase ? signalNames.get(code - signalBase) : undefined;
  return { code, ...(signal === undefined ? {} : { signal }) };
}

/**
 * Returns whether the game's report is still to come: with the end of the streamer, which may still pack the
 * save.
 */
export function isGameReportPending(pod: Pod): boolean {
  return (
    gameTerminated(pod) !== undefined && gameTerminationReport(pod) === undefined && isStreamerRunning(pod)
  );
}

const sigkillExitCode = 128 + 9;

const publicEnders = {
  itself: "Itself",
  "close-request": "CloseRequest",
  sigterm: "Sigterm",
  sigkill: "Sigkill",
} as const;
const publicFolders = { home: "Home", tmp: "Tmp", shm: "Shm" } as const;

/** Returns how the game ended. Undefined before its end, and if nothing about it is known. */
export function gameEndOf(pod: Pod): GameEnd | undefined {
  const ended = gameTerminated(pod);
  const report = gameTerminationReport(pod);
  const endedBy = enderOf(report, ended?.exitCode);
  if (ended === undefined || endedBy === undefined) return undefined;
  return {
    endedBy,
    ...(report?.hasOutlivedLauncher === true && { hasOutlivedLauncher: true }),
    ...(report?.fullFolders !== undefined &&
      report.fullFolders.length > 0 && {
        fullFolders: [...new Set(report.fullFolders)].map((folder) => publicFolders[folder]),
      }),
  };
}

/** A supervisor that was killed, as after the pod's grace period, has left the report of a running game. */
function enderOf(report: GameTermination | undefined, exitCode = 0): GameEnd["endedBy"] | undefined {
  if (report?.state === "running" || report?.reason === "out-of-memory") return "Sigkill";
  if (report?.endedBy !== undefined) return publicEnders[report.endedBy];
  return exitCode === sigkillExitCode ? "Sigkill" : undefined;
}

/**
 * A game that loses its display ends at its next display call. A game that ends later than this ended for
 * another reason. The limit allows for delays on a busy node and the kubelet's whole seconds.
 */
const endsWithStreamerMs = 10_000;

/** Returns why the streamer failed. Undefined if it did not, or if the game outlived a failed streamer. */
export function streamerFault(pod: Pod): string | undefined {
  const streamer = streamerStatus(pod);
  const { terminated: previous } = streamer?.lastState ?? {};
  // The kubelet restarts a failed streamer and keeps the previous termination state as long as the pod
  // exists.
  for (const ended of [streamer?.state?.terminated, hasEndedWithGame(previous, pod) ? previous : undefined]) {
    const reason = parseStreamerTermination(ended?.message ?? "")?.reason ?? undefined;
    if (reason !== undefined && reason !== "stopped") return reason;
  }
  return undefined;
}

/**
 * Returns whether the streamer ended shortly before the game or after it. A failing streamer takes the game
 * with it and may still wait for its last pack.
 */
function hasEndedWithGame(streamer: Terminated | undefined, pod: Pod): boolean {
  // A time that the kubelet does not know is NaN, and comparisons with NaN are false.
  return (
    Date.parse(streamer?.finishedAt ?? "") >=
    Date.parse(gameTerminated(pod)?.finishedAt ?? "") - endsWithStreamerMs
  );
}

/**
 * Returns why the kubelet refused to run the pod, none of whose containers it has started. Undefined if it
 * did not refuse.
 */
export function rejection(pod: Pod): { reason: string; message: string } | undefined {
  if (pod.status?.phase !== "Failed" || pod.status.reason === undefined || isEvicted(pod)) return undefined;
  const hasStarted = hasGameRun(pod) || streamerStatus(pod)?.state?.terminated !== undefined;
  return hasStarted ? undefined : { reason: pod.status.reason, message: pod.status.message ?? "" };
}

/** Returns whether the cluster evicted or preempted the pod, or removed it because of a taint. */
export function isEvicted(pod: Pod): boolean {
  const isTarget = pod.status?.conditions?.some(
    (condition) => condition.type === "DisruptionTarget" && condition.status === "True",
  );
  return pod.status?.reason === "Evicted" || pod.status?.reason === "Preempting" || (isTarget ?? false);
}

/**
 * Returns since when the pod has been unschedulable, and the scheduler's message. Undefined if it was
 * scheduled or not tried yet.
 */
export function unschedulable(pod: Pod): { since: string; message: string } | undefined {
  const condition = pod.status?.conditions?.find(
    ({ type, status }) => type === "PodScheduled" && status === "False",
  );
  if (condition?.reason !== "Unschedulable" || condition.lastTransitionTime === undefined) return undefined;
  return { since: condition.lastTransitionTime, message: condition.message ?? "" };
}

/**
 * Reasons for which a kubelet does not start a container because its image is missing. ErrImagePull is
 * excluded, because it is the result of the first attempt.
 */
const imageReasons: ReadonlySet<string> = new Set([
  "ImagePullBackOff",
  "ErrImageNeverPull",
  "InvalidImageName",
]);

/**
 * Returns the kubelet's message about an image that it cannot pull, for a pod whose game has not started.
 * Undefined if no image is missing.
 */
export function missingImage(pod: Pod): string | undefined {
  if (hasGameRun(pod)) return undefined;
  const waiting = [streamerStatus(pod), gameStatus(pod)]
    .map((status) => status?.state?.waiting)
    .find((state) => imageReasons.has(state?.reason ?? ""));
  return waiting && `${waiting.reason ?? ""} ${waiting.message ?? ""}`.trim();
}

/** Returns whether the scheduler's or the kubelet's message means that the pod's host port is taken. */
export function isPortConflict({ reason, message }: { reason?: string; message: string }): boolean {
  return reason === "NodePorts" || /free ports|NodePorts/.test(message);
}

/** Returns a sentence that says what keeps the pod from being ready. */
export function waitingFor(pod: Pod): string {
  const statuses = [streamerStatus(pod), gameStatus(pod)].filter((status) => status !== undefined);
  const parts = statuses.flatMap(({ name, state }) =>
    state?.waiting
      ? [`${name} waits: ${state.waiting.reason ?? "unknown"} ${state.waiting.message ?? ""}`.trim()]
      : [],
  );
  if (parts.length > 0) return parts.join("; ");
  return unschedulable(pod)?.message ?? "The streamer has not become ready.";
}

function gameStatus(pod: Pod): ContainerStatus | undefined {
  return pod.status?.containerStatuses?.find(({ name }) => name === containerNames.game);
}

function streamerStatus(pod: Pod): ContainerStatus | undefined {
  return pod.status?.initContainerStatuses?.find(({ name }) => name === containerNames.streamer);
}

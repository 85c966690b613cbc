import type { GameSession } from "#contracts/crd/gameSession.ts";
import { gameSessionEventReasons } from "#contracts/crd/gameSessionReasons.ts";
import { containerNames } from "#contracts/nodeLayout.ts";
import { streamerMessages } from "#contracts/termination.ts";
import type { Event, Pod } from "#kube/api/builtin.ts";
import { findCondition } from "#kube/api/conditions.ts";
import { timeOfEvent } from "../cluster/observe.ts";

/**
 * Something that happened in a launch. Kubernetes keeps most times in whole seconds: such a moment lies
 * within the second that begins at `atMs`.
 */
export interface Moment {
  atMs: number;
  isWholeSecond: boolean;
}

/** One step of a launch: what it was about, and where its times come from. */
export interface LaunchStep {
  name: string;
  from: Moment | undefined;
  to: Moment | undefined;
  source: string;
}

/** What the cluster knows of one session. */
export interface SessionEvidence {
  session: GameSession;
  pod: Pod | undefined;
  events: readonly Event[];
  /** Lines of the streamer's log, while its pod is there. */
  streamerLog: readonly string[];
}

/**
 * Returns the steps of a launch from the object's creation to the connection of the first viewer, in the
 * order in which they are expected.
 */
export function launchSteps(evidence: SessionEvidence): LaunchStep[] {
  const {
    session: { metadata, status },
    pod,
    streamerLog,
  } = evidence;
  const accepted = momentOf(metadata.creationTimestamp);
  const seen = momentOf(status?.startedAt);
  const placed = momentOf(status?.placement?.assignedAt);
  const prepared = (type: "ContentReady" | "SaveRestored"): Moment | undefined =>
    conditionMoment(status?.conditions, type);
  const created =
    eventMoment(evidence, gameSessionEventReasons.podCreated) ?? momentOf(pod?.metadata.creationTimestamp);
  const streamer = startOf(pod, containerNames.streamer);
  const ready = momentOf(status?.readyAt);
  const answered = logMoment(streamerLog, ({ msg }) => msg === streamerMessages.viewerAnswered);
  const connected = logMoment(
    streamerLog,
    ({ msg, state }) => msg === streamerMessages.viewerConnectionChanged && state === "connected",
  );
  return [
    {
      name: "the operator sees the session",
      from: accepted,
      to: seen,
      source: "metadata.creationTimestamp, status.startedAt",
    },
    { name: "a node is chosen", from: seen, to: placed, source: "status.placement.assignedAt" },
    {
      name: "the game's files are there",
      from: placed,
      to: prepared("ContentReady"),
      source: "condition ContentReady",
    },
    {
      name: "the save is there",
      from: placed,
      to: prepared("SaveRestored"),
      source: "condition SaveRestored",
    },
    { name: "the pod is created", from: placed, to: created, source: "event PodCreated" },
    { name: "the streamer's container starts", from: created, to: streamer, source: "pod" },
    {
      name: "the game's container starts",
      from: created,
      to: startOf(pod, containerNames.game),
      source: "pod",
    },
    { name: "the session is ready", from: streamer ?? created, to: ready, source: "status.readyAt" },
    {
      name: "a viewer's offer is answered",
      from: streamer ?? created,
      to: answered,
      source: "the streamer's log",
    },
    { name: "the viewer is connected", from: answered, to: connected, source: "the streamer's log" },
  ];
}

/** Returns the moment that a time of Kubernetes stands for; one without a fraction is of a whole second. */
function momentOf(time: string | undefined): Moment | undefined {
  if (time === undefined) return undefined;
  const atMs = Date.parse(time);
  return Number.isNaN(atMs) ? undefined : { atMs, isWholeSecond: !time.includes(".") };
}

function conditionMoment(
  conditions: NonNullable<GameSession["status"]>["conditions"],
  type: string,
): Moment | undefined {
  const condition = findCondition(conditions, type);
  return condition?.status === "True" ? momentOf(condition.lastTransitionTime) : undefined;
}

function eventMoment({ events }: SessionEvidence, reason: string): Moment | undefined {
  const times = events
    .filter((event) => event.reason === reason)
    .map(timeOfEvent)
    .filter((time) => time !== undefined);
  return momentOf(times.toSorted().at(-1));
}

function startOf(pod: Pod | undefined, name: string): Moment | undefined {
  const statuses = [...(pod?.status?.initContainerStatuses ?? []), ...(pod?.status?.containerStatuses ?? [])];
  const state = statuses.find((status) => status.name === name)?.state;
  return momentOf(state?.running?.startedAt ?? state?.terminated?.startedAt);
}

interface LogLine {
  time?: string;
  msg?: string;
  state?: string;
}

/** Returns when the first line of the log says it. */
function logMoment(lines: readonly string[], says: (line: LogLine) => boolean): Moment | undefined {
  for (const text of lines) {
    const line = parseLine(text);
    if (line !== undefined && says(line)) return momentOf(line.time);
  }
  return undefined;
}

function parseLine(text: string): LogLine | undefined {
  try {
    const line: unknown = JSON.parse(text);
    return typeof line === "object" && line !== null ? line : undefined;
  } catch {
    return undefined; // GStreamer and Mesa write lines of their own.
  }
}

import type { GameSession } from "#contracts/crd/gameSession.ts";
import { gameSessionEventReasons } from "#contracts/crd/gameSessionReasons.ts";
import { containerNames } from "#contracts/nodeLayout.ts";
import { streamerMessages } from "#contracts/termination.ts";
import type { Event, Pod } from "#kube/api/builtin.ts";
import { findCondition } from "#kube/api/conditions.ts";
import { timeOfEvent } from "../cluster/observe.ts";

/**
 * A moment of a launch. Kubernetes keeps most times in whole seconds: such a moment is within the second that
 * starts at `atMs`.
 */
export interface Moment {
  atMs: number;
  isWholeSecond: boolean;
}

/** A step of a launch, with the source of its times. */
export interface LaunchStep {
  name: string;
  from: Moment | undefined;
  to: Moment | undefined;
  source: string;
}

/** A session with its pod, events and log. */
export interface SessionEvidence {
  session: GameSession;
  pod: Pod | undefined;
  events: readonly Event[];
  /** Lines of the streamer's log; empty without a pod. */
  streamerLog: readonly string[];
}

/** Returns the steps of a launch from the creation of the object to the first viewer's connection. */
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
      name: "operator sees the session",
      from: accepted,
      to: seen,
      source: "metadata.creationTimestamp, status.startedAt",
    },
    { name: "node chosen", from: seen, to: placed, source: "status.placement.assignedAt" },
    {
      name: "game files ready",
      from: placed,
      to: prepared("ContentReady"),
      source: "condition ContentReady",
    },
    {
      name: "save ready",
      from: placed,
      to: prepared("SaveRestored"),
      source: "condition SaveRestored",
    },
    { name: "pod created", from: placed, to: created, source: "event PodCreated" },
    { name: "streamer container started", from: created, to: streamer, source: "pod" },
    {
      name: "game container started",
      from: created,
      to: startOf(pod, containerNames.game),
      source: "pod",
    },
    { name: "session ready", from: streamer ?? created, to: ready, source: "status.readyAt" },
    {
      name: "viewer's offer answered",
      from: streamer ?? created,
      to: answered,
      source: "streamer log",
    },
    { name: "viewer connected", from: answered, to: connected, source: "streamer log" },
  ];
}

/** Converts a Kubernetes time. Times without a fraction have whole seconds. */
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

/** Returns the time of the first matching log line. */
function logMoment(lines: readonly string[], matches: (line: LogLine) => boolean): Moment | undefined {
  for (const text of lines) {
    const line = parseLine(text);
    if (line !== undefined && matches(line)) return momentOf(line.time);
  }
  return undefined;
}

function parseLine(text: string): LogLine | undefined {
  try {
    const line: unknown = JSON.parse(text);
    return typeof line === "object" && line !== null ? line : undefined;
  } catch {
    return undefined; // GStreamer and Mesa write plain text lines.
  }
}

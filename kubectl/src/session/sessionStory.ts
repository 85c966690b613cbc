import { type GameSessionStatus, gameSessions } from "#contracts/crd/gameSession.ts";
import { containerNames } from "#contracts/nodeLayout.ts";
import { events, pods, type Event } from "#kube/api/builtin.ts";
import { ResourceClient } from "#kube/client/resourceClient.ts";
import { AdminError, exitCodes } from "../adminError.ts";
import type { Installation } from "../cluster/installation.ts";
import { timeOfEvent, readPodLog } from "../cluster/observe.ts";
import { bytesText, table } from "../output.ts";
import { launchSteps, type SessionEvidence, type Moment, type LaunchStep } from "./launchMoments.ts";
import { failureText, phaseOf } from "./sessionState.ts";

const logLines = 2_000;
const eventsShown = 30;

/** Reads all that the cluster knows of a session. Throws AdminError when it has no such session. */
export async function findEvidence(
  { transport, sessionsNamespace: namespace }: Installation,
  name: string,
): Promise<SessionEvidence> {
  const session = await new ResourceClient(transport, gameSessions).find({ name, namespace });
  if (session === undefined) {
    throw new AdminError(
      `There is no session ${name} in ${namespace}: \`kubectl joypod sessions\` lists them. A finished one is kept for some minutes only; the API's audit trail and logs name it for longer.`,
      exitCodes.notFound,
    );
  }
  const [pod, recorded, streamerLog] = await Promise.all([
    new ResourceClient(transport, pods).find({ name: session.status?.podRef?.name ?? name, namespace }),
    new ResourceClient(transport, events).listAll({ namespace, fieldSelector: `regarding.name=${name}` }),
    readPodLog(transport, { namespace, pod: name, container: containerNames.streamer, tailLines: logLines }),
  ]);
  return { session, pod, events: recorded.items, streamerLog };
}

/** Returns a session's story: what it is, its launch, its end, and its events. */
export function presentSession(evidence: SessionEvidence): string {
  const { session } = evidence;
  const { metadata, spec, status } = session;
  const facts: readonly Fact[] = [
    ["Session", `${metadata.name} of player ${spec.userId}`],
    [
      "Game",
      `${spec.gameCacheRef.name}, version ${spec.contentDigest.slice(0, 12)}, slot ${spec.saveSlot.number}`,
    ],
    ["Phase", phaseOf(session)],
    ...(status === undefined ? [] : [...placeFacts(status), ...endFacts(status, failureText(session))]),
  ];
  return [
    facts
      .flatMap(([name, fact]) => (fact === undefined ? [] : [`${`${name}:`.padEnd(10)}${fact}`]))
      .join("\n"),
    `From the launch to the first viewer:\n${waterfall(launchSteps(evidence))}\n${limitsOfWhatIsKnown}`,
    `Conditions:\n${conditionTable(evidence)}`,
    `Events:\n${eventTable(evidence.events)}`,
  ].join("\n\n");
}

/** A line of the story; one without words is left out. */
type Fact = readonly [name: string, words: string | undefined];

function placeFacts({ nodeName, ports, address, placement, stream, readyAt }: GameSessionStatus): Fact[] {
  const moves =
    placement === undefined || placement.attempt === 1
      ? ""
      : `, attempt ${placement.attempt}, after ${placement.triedNodes.join(", ")}`;
  return [
    ["Node", nodeName && `${nodeName}, UDP port ${ports?.media ?? "?"} at ${address ?? "?"}${moves}`],
    [
      "Stream",
      stream &&
        `${stream.width}x${stream.height} at up to ${stream.fps} frames/s, ${stream.codec} by ${stream.encoder}, rendered by ${stream.renderer}`,
    ],
    ["Ready", readyAt],
  ];
}

function endFacts(
  { stoppingAt, stopReason, finishedAt, save, usage }: GameSessionStatus,
  failure: string | undefined,
): Fact[] {
  return [
    ["Stopping", stoppingAt && `${stoppingAt} (${stopReason ?? "?"})`],
    ["Finished", finishedAt],
    ["Failure", failure],
    [
      "Save",
      save &&
        `${bytesText(save.bytes)} stored ${save.persistedAt}, ${save.final ? "the last one" : "not the last one"}`,
    ],
    [
      "Used",
      usage &&
        `${Math.round(usage.durationSeconds)} s, ${Math.round(usage.cpuSeconds)} s of a processor, ${bytesText(usage.peakMemoryBytes)} at most`,
    ],
  ];
}

const limitsOfWhatIsKnown =
  "The launch is counted from the object's creation, which follows the click by the request's way. `~`: Kubernetes keeps whole seconds.\n" +
  "Of the first picture in the browser the cluster hears nothing: it follows the connection by a fraction of a second (Statistics on the play page).";

function conditionTable({ session: { status } }: SessionEvidence): string {
  return table(
    ["CONDITION", "STATUS", "SINCE", "REASON", "MESSAGE"],
    (status?.conditions ?? []).map((condition) => [
      condition.type,
      condition.status,
      condition.lastTransitionTime,
      condition.reason,
      condition.message,
    ]),
  );
}

function eventTable(recorded: readonly Event[]): string {
  const rows = recorded
    .toSorted((a, b) => (timeOfEvent(a) ?? "").localeCompare(timeOfEvent(b) ?? ""))
    .slice(-eventsShown)
    .map((event) => [timeOfEvent(event), event.type, event.reason, event.regarding?.kind, event.note]);
  return rows.length === 0
    ? "None is kept: Kubernetes forgets events after an hour."
    : table(["TIME", "TYPE", "REASON", "OF", "NOTE"], rows);
}

const barWidth = 40;
const notKnown = "not recorded";

/**
 * Returns the steps as rows of a waterfall: when each ended after the first moment, how long it took, and a
 * bar.
 */
export function waterfall(steps: readonly LaunchStep[]): string {
  const moments = steps.flatMap(({ from, to }) => [from, to]).filter((moment) => moment !== undefined);
  const [origin] = steps.flatMap(({ from }) => from ?? []);
  if (origin === undefined) return "Nothing is recorded of the launch yet.";
  const lengthMs = Math.max(1_000, ...moments.map(({ atMs }) => atMs - origin.atMs));
  const rows = steps.map(({ name, from, to, source }) => {
    if (to === undefined) return [name, notKnown, "", "", source];
    return [
      name,
      offsetText(origin, to),
      from === undefined ? "" : lasting(from, to),
      bar(origin.atMs, lengthMs, from ?? to, to),
      source,
    ];
  });
  return table(
    ["STEP", "AT", "TOOK", "", "FROM"],
    rows.map((row) => row.map((cell) => cell || " ")),
  );
}

/** A time is told as exactly as both of its ends are known. */
function offsetText(from: Moment, to: Moment): string {
  const seconds = (to.atMs - from.atMs) / 1000;
  return from.isWholeSecond || to.isWholeSecond
    ? `~${Math.max(0, Math.round(seconds))} s`
    : `${Math.max(0, seconds).toFixed(2)} s`;
}

function lasting(from: Moment, to: Moment): string {
  // What ended within the second in which the other began took less than the clock can tell.
  const isShort = (from.isWholeSecond || to.isWholeSecond) && Math.abs(to.atMs - from.atMs) < 1_000;
  return isShort || to.atMs < from.atMs ? "<1 s" : offsetText(from, to);
}

function bar(originMs: number, lengthMs: number, from: Moment, to: Moment): string {
  const columnOf = ({ atMs }: Moment): number =>
    Math.round(Math.min(1, Math.max(0, (atMs - originMs) / lengthMs)) * (barWidth - 1));
  const [start, end] = [Math.min(columnOf(from), columnOf(to)), columnOf(to)];
  return `|${" ".repeat(start)}${"=".repeat(Math.max(1, end - start + 1))}`.padEnd(barWidth + 1) + "|";
}

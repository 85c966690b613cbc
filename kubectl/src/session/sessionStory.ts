import {
  type GameEnd,
  type GameSession,
  type GameSessionStatus,
  gameSessions,
  type StreamSummary,
} from "#contracts/crd/gameSession.ts";
import { containerNames } from "#contracts/nodeLayout.ts";
import { events, pods, type Event } from "#kube/api/builtin.ts";
import { ResourceClient } from "#kube/client/resourceClient.ts";
import { AdminError, exitCodes } from "../adminError.ts";
import type { Installation } from "../cluster/installation.ts";
import { timeOfEvent, readPodLog } from "../cluster/observe.ts";
import { bytesText } from "../output.ts";
import { table } from "#runtime/textTable.ts";
import type { GameOutput } from "./gameOutput.ts";
import { launchSteps, type SessionEvidence, type Moment, type LaunchStep } from "./launchMoments.ts";
import { failureText, phaseOf } from "./sessionState.ts";

const logLines = 2_000;
const eventsShown = 30;
const outputLinesShown = 40;

/**
 * Reads a session with its pod, events and log.
 *
 * @throws AdminError When the session does not exist.
 */
export async function findEvidence(
  { transport, sessionsNamespace: namespace }: Installation,
  name: string,
): Promise<SessionEvidence> {
  const session = await new ResourceClient(transport, gameSessions).find({ name, namespace });
  if (session === undefined) {
    throw new AdminError(
      `Session ${name} was not found in ${namespace}. Run \`kubectl joypod sessions\` for a list. Finished sessions are removed after a few minutes; the API's audit trail and logs keep them for longer.`,
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

/** Returns the text of `kubectl joypod session`. */
export function presentSession(evidence: SessionEvidence, output?: GameOutput): string {
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
    `Launch:\n${waterfall(launchSteps(evidence))}\n${timingNote}`,
    `Conditions:\n${conditionTable(evidence)}`,
    `Events:\n${eventTable(evidence.events)}`,
    ...(output === undefined ? [] : [presentOutput(output)]),
  ].join("\n\n");
}

function presentOutput(output: GameOutput): string {
  if ("problem" in output) return `Game output: not available. ${output.problem}`;
  const lines = output.text.trimEnd().split("\n");
  const shown = lines.slice(-outputLinesShown);
  const note = lines.length > shown.length ? `, last ${shown.length} lines; add --log for all` : "";
  return `Game output (untrusted${note}):\n${shown.join("\n")}`;
}

/** Returns whether the game failed, so that its output may say why. */
export function hasGameFailed({ status }: GameSession): boolean {
  return status?.failure !== undefined && status.exit !== undefined;
}

/** A line of the summary. Lines without text are left out. */
type Fact = readonly [name: string, text: string | undefined];

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
        `${stream.width}x${stream.height}, up to ${stream.fps} frames/s, ${stream.codec} (${stream.encoder}), rendered by ${stream.renderer}`,
    ],
    ["Ready", readyAt],
  ];
}

function endFacts(
  { stoppingAt, stopReason, finishedAt, exit, gameEnd, save, usage, streamSummary }: GameSessionStatus,
  failure: string | undefined,
): Fact[] {
  return [
    ["Stopping", stoppingAt && `${stoppingAt} (${stopReason ?? "?"})`],
    ["Finished", finishedAt],
    ["Failure", failure],
    ["Exit", exit && `code ${exit.code}${exit.signal === undefined ? "" : ` (${exit.signal})`}`],
    ["Game ended by", gameEnd && describeGameEnd(gameEnd)],
    ["Full folders", gameEnd?.fullFolders?.map((folder) => folderPaths[folder]).join(", ")],
    [
      "Save",
      save && `${bytesText(save.bytes)} stored ${save.persistedAt}, ${save.final ? "final" : "not final"}`,
    ],
    [
      "Usage",
      usage &&
        `${Math.round(usage.durationSeconds)} s, ${Math.round(usage.cpuSeconds)} s of CPU time, peak memory ${bytesText(usage.peakMemoryBytes)}`,
    ],
    ["Streamed", streamSummary && describeStreamSummary(streamSummary)],
  ];
}

function describeStreamSummary({
  firstPictureSeconds,
  viewedSeconds,
  averageFps,
  averageKbps,
  averageLoss,
}: StreamSummary): string {
  const firstPicture =
    firstPictureSeconds === undefined ? "" : `, first picture after ${firstPictureSeconds.toFixed(1)} s`;
  return `${Math.round(viewedSeconds)} s${firstPicture}, average ${averageFps.toFixed(1)} frames/s, ${Math.round(averageKbps)} kbit/s, ${(averageLoss * 100).toFixed(1)} % lost`;
}

const folderPaths = { Home: "HOME", Tmp: "/tmp", Shm: "/dev/shm" } as const;

function describeGameEnd({ endedBy, hasOutlivedLauncher }: GameEnd): string {
  const parts = [
    { Itself: "itself", CloseRequest: "the close request", Sigterm: "SIGTERM", Sigkill: "SIGKILL" }[endedBy],
    endedBy === "Sigkill" && "its last save may be incomplete",
    hasOutlivedLauncher === true && "the launcher exited while the game was still running",
  ];
  return parts.filter(Boolean).join("; ");
}

const timingNote =
  "Times count from the creation of the GameSession, shortly after the player's request. `~` marks times that Kubernetes keeps in whole seconds.\n" +
  "The cluster cannot observe the first frame in the browser, which follows the connection within a second. See Statistics on the play page.";

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
    ? "None. Kubernetes deletes events after an hour."
    : table(["TIME", "TYPE", "REASON", "OBJECT", "NOTE"], rows);
}

const barWidth = 40;
const notRecorded = "not recorded";

/** Returns the launch steps as a waterfall: end of each step since the start, duration and a bar. */
export function waterfall(steps: readonly LaunchStep[]): string {
  const moments = steps.flatMap(({ from, to }) => [from, to]).filter((moment) => moment !== undefined);
  const [origin] = steps.flatMap(({ from }) => from ?? []);
  if (origin === undefined) return "No launch steps are recorded yet.";
  const lengthMs = Math.max(1_000, ...moments.map(({ atMs }) => atMs - origin.atMs));
  const rows = steps.map(({ name, from, to, source }) => {
    if (to === undefined) return [name, notRecorded, "", "", source];
    return [
      name,
      offsetText(origin, to),
      from === undefined ? "" : durationText(from, to),
      bar(origin.atMs, lengthMs, from ?? to, to),
      source,
    ];
  });
  return table(
    ["STEP", "AT", "DURATION", "", "SOURCE"],
    rows.map((row) => row.map((cell) => cell || " ")),
  );
}

/** Returns the time between two moments, with the precision of the less precise one. */
function offsetText(from: Moment, to: Moment): string {
  const seconds = (to.atMs - from.atMs) / 1000;
  return from.isWholeSecond || to.isWholeSecond
    ? `~${Math.max(0, Math.round(seconds))} s`
    : `${Math.max(0, seconds).toFixed(2)} s`;
}

function durationText(from: Moment, to: Moment): string {
  // Moments within the same whole second cannot be ordered.
  const isShort = (from.isWholeSecond || to.isWholeSecond) && Math.abs(to.atMs - from.atMs) < 1_000;
  return isShort || to.atMs < from.atMs ? "<1 s" : offsetText(from, to);
}

function bar(originMs: number, lengthMs: number, from: Moment, to: Moment): string {
  const columnOf = ({ atMs }: Moment): number =>
    Math.round(Math.min(1, Math.max(0, (atMs - originMs) / lengthMs)) * (barWidth - 1));
  const [start, end] = [Math.min(columnOf(from), columnOf(to)), columnOf(to)];
  return `|${" ".repeat(start)}${"=".repeat(Math.max(1, end - start + 1))}`.padEnd(barWidth + 1) + "|";
}

/**
 * The termination reports of the two containers in a session's pod, as JSON. They are written at the start
 * and every two seconds, so that a container that is killed without warning still leaves its last report
 * (`state: "running"`). The streamer's report is its termination message. The game's report is in a directory
 * that the game's processes can also write to, and reaches the cluster inside the streamer's report. Its
 * numbers are therefore untrusted, and readers limit them to what is possible.
 */
import { z } from "zod";

/** Parses the JSON in a container's termination message; undefined for any other text. */
export function parseTerminationMessage<T>(schema: z.ZodType<T>, text: string): T | undefined {
  try {
    return schema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined; // Not JSON: a message of another kind is ordinary, not an error.
  }
}

/** Name of the game's report in the directory GAME_REPORT_DIR. */
export const gameReportFile = "game.json";

/** How a game can end, in addition to `signal-N` for a signal that is not a stop. */
export const GameEndReason = z.union([
  z.enum([
    /** It was asked to stop and ended within the grace period. */
    "stopped",
    /** It was asked to stop and was killed after the grace period. */
    "stopped-by-kill",
    /** It exited without a request; see `exitCode`. */
    "exited",
    /** The kernel killed it at the container's memory limit. */
    "out-of-memory",
    /** The streamer's display did not appear. */
    "no-display",
  ]),
  z.templateLiteral(["signal-", z.int().min(1)]),
]);
export type GameEndReason = z.infer<typeof GameEndReason>;

/** What ended the last process of a game. */
export const GameEndedBy = z.enum([
  /** Nothing: all processes ended before they were asked to. */
  "itself",
  /** The close request to its windows. */
  "close-request",
  /** SIGTERM. */
  "sigterm",
  /** SIGKILL, after the grace period. Its last save may be incomplete. */
  "sigkill",
]);
export type GameEndedBy = z.infer<typeof GameEndedBy>;

/** The folders that a game can write to: HOME, `/tmp` and `/dev/shm`. */
export const GameFolder = z.enum(["home", "tmp", "shm"]);
export type GameFolder = z.infer<typeof GameFolder>;

const seconds = z.number().min(0);
const usage = {
  cpuSeconds: seconds,
  peakMemoryBytes: z.int().min(0),
  wallSeconds: seconds,
};

/** The game container's report, written by its supervisor. */
export const GameTermination = z.object({
  state: z.enum(["running", "ended"]),
  /** Null while it runs. */
  reason: GameEndReason.nullable(),
  /** Null while it runs; 128 + N after signal N. */
  exitCode: z.int().nullable(),
  oomKills: z.int().min(0),
  /** Only after the end. Supervisors of earlier releases do not report this and the next two. */
  endedBy: GameEndedBy.optional(),
  /** Whether the launcher exited while the game was still running. */
  hasOutlivedLauncher: z.boolean().optional(),
  /** Folders that had no room left at some time. */
  fullFolders: z.array(GameFolder).max(GameFolder.options.length).optional(),
  ...usage,
});
export type GameTermination = z.infer<typeof GameTermination>;

/** How a streamer can end. */
const streamerEndReasons = [
  /** It was asked to stop. */
  "stopped",
  /** The display or the sound server did not start, or ended. */
  "display-failed",
  "sound-failed",
  /** No encoder passed the probe at the start. */
  "no-encoder",
  /** An unhandled error; see the log. */
  "failed",
] as const;

/** The stream while a browser was connected. */
export const StreamMeasurement = z.object({
  /** When the first picture was sent; null before. */
  firstPictureAt: z.iso.datetime().nullable(),
  viewedSeconds: seconds,
  averageFps: z.number().min(0).max(1_000),
  averageKbps: z.number().min(0).max(10_000_000),
  averageLoss: z.number().min(0).max(1),
  /** Size of the last picture. */
  width: z.int().min(1).max(8_192),
  height: z.int().min(1).max(8_192),
});
export type StreamMeasurement = z.infer<typeof StreamMeasurement>;

/** The streamer container's report. */
export const StreamerTermination = z.object({
  state: z.enum(["running", "ended"]),
  reason: z.enum(streamerEndReasons).nullable(),
  /** Viewer connections since the start. */
  connections: z.int().min(0),
  /** The game's last report that the streamer read. It survives a game container that is killed. */
  game: GameTermination.nullable(),
  /** Absent until the stream was viewed. Streamers of earlier releases do not report it. */
  stream: StreamMeasurement.optional().catch(undefined),
  ...usage,
});
export type StreamerTermination = z.infer<typeof StreamerTermination>;

/** Parses the game's report; undefined if the text is empty, truncated, or written by another program. */
export function parseGameTermination(text: string): GameTermination | undefined {
  return parseTerminationMessage(GameTermination, text);
}

/** Parses the streamer's report, like `parseGameTermination`. */
export function parseStreamerTermination(text: string): StreamerTermination | undefined {
  return parseTerminationMessage(StreamerTermination, text);
}

/**
 * Lines of the streamer's log that other programs parse, one JSON object each. `kubectl joypod session` reads
 * the last moments of a launch from them. Do not reword them, because sessions of other versions write them
 * too.
 */
export const streamerMessages = {
  /** A viewer's offer was answered with SDP. */
  viewerAnswered: "A viewer was answered.",
  /** A viewer's connection changed to the state in the line's `state`. */
  viewerConnectionChanged: "A viewer's connection changed.",
} as const;

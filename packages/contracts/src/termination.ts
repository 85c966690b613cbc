/**
 * The termination reports of the two containers of a session's pod, as JSON: written at start and every two
 * seconds while they run, so that a container killed without warning still leaves its last report (`state:
 * "running"`). The streamer's is its termination message. The game's is in a directory that its own processes
 * can write to as well, and reaches the cluster within the streamer's: its figures are a claim, and whoever
 * counts them bounds them by what was possible.
 */
import { z } from "zod";

/** Returns what a container left in its termination message as JSON; undefined for any other text. */
export function parseTerminationMessage<T>(schema: z.ZodType<T>, text: string): T | undefined {
  try {
    return schema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined; // Not JSON: a message of another kind is ordinary, not an error.
  }
}

/** Name of the game's report, in the directory of GAME_REPORT_DIR. */
export const gameReportFile = "game.json";

/** How a game can end; besides these there is `signal-N`, for a signal that is not a stop. */
export const GameEndReason = z.union([
  z.enum([
    /** It was asked to stop and ended within the grace. */
    "stopped",
    /** It was asked to stop and killed after the grace. */
    "stopped-by-kill",
    /** It ended by itself; `exitCode` says how. */
    "exited",
    /** The kernel killed it at the container's memory limit. */
    "out-of-memory",
    /** The streamer's display did not appear. */
    "no-display",
  ]),
  z.templateLiteral(["signal-", z.int().min(1)]),
]);
export type GameEndReason = z.infer<typeof GameEndReason>;

const seconds = z.number().min(0);
const usage = {
  cpuSeconds: seconds,
  peakMemoryBytes: z.int().min(0),
  wallSeconds: seconds,
};

/** The game container's report, which its supervisor writes. */
export const GameTermination = z.object({
  state: z.enum(["running", "ended"]),
  /** Null while it runs. */
  reason: GameEndReason.nullable(),
  /** Null while it runs; 128 + N after signal N. */
  exitCode: z.int().nullable(),
  oomKills: z.int().min(0),
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
  /** An error that nothing handles; the log says which. */
  "failed",
] as const;

/** The streamer container's report. */
export const StreamerTermination = z.object({
  state: z.enum(["running", "ended"]),
  reason: z.enum(streamerEndReasons).nullable(),
  /** Connections of viewers since the start. */
  connections: z.int().min(0),
  /** The game's last report as the streamer read it: it outlives a game container that was killed. */
  game: GameTermination.nullable(),
  ...usage,
});
export type StreamerTermination = z.infer<typeof StreamerTermination>;

/**
 * Returns the game's report in a text, or undefined when the text has none: it is empty, truncated, or
 * another program's.
 */
export function parseGameTermination(text: string): GameTermination | undefined {
  return parseTerminationMessage(GameTermination, text);
}

/** Does the same for the streamer's report. */
export function parseStreamerTermination(text: string): StreamerTermination | undefined {
  return parseTerminationMessage(StreamerTermination, text);
}

/**
 * Lines of the streamer's log, one JSON object each, that others read: `kubectl joypod session` takes a
 * launch's last moments from them. Sessions of other versions say the same, so none is reworded.
 */
export const streamerMessages = {
  /** A viewer's offer has its SDP answer. */
  viewerAnswered: "A viewer was answered.",
  /** A viewer's connection has come into the state that the line names in `state`. */
  viewerConnectionChanged: "A viewer's connection changed.",
} as const;

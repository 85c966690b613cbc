/**
 * What the two containers of a session's pod say of themselves, as JSON: written at start and every two seconds while they run, so that
 * a container killed without warning still leaves its last account (`state: "running"`). The streamer's is its termination message. The
 * game's lies in a directory that its own processes can write to as well, and reaches the cluster within the streamer's: its figures are
 * a claim, which whoever counts them holds against what was possible.
 */
import { z } from "zod";

/** How a game can end; besides these `signal-N`, for a signal nobody asked for. */
export const GameEndReason = z.union([z.enum([
  /** Asked to stop, and it did by itself. */
  "stopped",
  /** Asked to stop, and killed after the grace. */
  "stopped-by-kill",
  /** Ended by itself; `exitCode` says how. */
  "exited",
  /** The kernel killed it at the container's memory limit. */
  "out-of-memory",
  /** The streamer's display did not appear. */
  "no-display",
]), z.templateLiteral(["signal-", z.int().min(1)])]);
export type GameEndReason = z.infer<typeof GameEndReason>;

const seconds = z.number().min(0);
const usage = {
  cpuSeconds: seconds,
  peakMemoryBytes: z.int().min(0),
  wallSeconds: seconds,
};

/** The game's container: its supervisor's account of the game. */
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
  /** Asked to stop. */
  "stopped",
  /** The display or the sound server did not start or died. */
  "display-failed", "sound-failed",
  /** No encoder passed the probe at the start. */
  "no-encoder",
  /** An error nobody handled; the log says which. */
  "failed",
] as const;

/** The streamer's container. */
export const StreamerTermination = z.object({
  state: z.enum(["running", "ended"]),
  reason: z.enum(streamerEndReasons).nullable(),
  /** Connections of viewers since the start. */
  connections: z.int().min(0),
  /** The game's last account as the streamer saw it: survives a game container that died without a word. */
  game: GameTermination.nullable(),
  ...usage,
});
export type StreamerTermination = z.infer<typeof StreamerTermination>;

/** The account in a termination message, or undefined when the text is none (empty, cut, or another program's). */
export function parseGameTermination(text: string): GameTermination | undefined {
  return parseWith(GameTermination, text);
}

/** The same for the streamer's container. */
export function parseStreamerTermination(text: string): StreamerTermination | undefined {
  return parseWith(StreamerTermination, text);
}

function parseWith<T>(schema: z.ZodType<T>, text: string): T | undefined {
  try {
    return schema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined; // Not JSON: a message of another kind is an ordinary answer, not a fault.
  }
}

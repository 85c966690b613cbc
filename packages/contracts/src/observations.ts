/**
 * What a session that verifies a version of a game has observed: the file that the streamer writes, the
 * packer copies to the session's folder on the node, and the node agent stores. Everything in it comes from a
 * pod that runs the game, so readers treat it as a claim.
 */
import { z } from "zod";
import { limits } from "./limits.ts";
import { GameTermination } from "./termination.ts";

/** What the shim in the game's container notes (session/shim/observations.h), one line each. */
export const RefusalKind = z.enum([
  /** A file that could not be written, because only HOME, `/tmp` and `/dev/shm` can. */
  "write",
  /** A library that a program loads itself and that is missing. */
  "library",
  /** An address outside the session that a program tried to reach. */
  "connect",
  /** A host name that could not be resolved. */
  "resolve",
  /** A socket of a kind that games do not get. */
  "socket",
  /** Sockets of TCP or UDP, which the shim provides within the session. */
  "loopback",
  /** Watches of files, which the shim provides and which report no change. */
  "watch",
  /** A system call that the filter refuses. */
  "call",
  /** A program that bypasses the shim: nothing of it is observed. */
  "program",
]);
export type RefusalKind = z.infer<typeof RefusalKind>;

const { refusals, refusalLength, pictureSeconds } = limits.verification;

/** One thing that a game was refused, or that was answered for it. */
export const Refusal = z.object({ kind: RefusalKind, detail: z.string().max(refusalLength) });
export type Refusal = z.infer<typeof Refusal>;

const seconds = z.number().min(0).max(100_000);

/** The file. Seconds count from the start of the game. Null is what was not observed. */
export const SessionObservations = z.object({
  version: z.literal(1),
  /** How long the game ran, or has run so far. */
  seconds,
  /** Null without a window. */
  firstWindowSeconds: seconds.nullable(),
  /** When the display first showed more than one colour; null if it never did. */
  firstPictureSeconds: seconds.nullable(),
  /** Whether display and sound were measured. */
  isMeasured: z.boolean(),
  /** Changes of the display per second after the first picture. */
  framesPerSecond: z.number().min(0).max(1_000).nullable(),
  hasSound: z.boolean(),
  hasOpenedGamepad: z.boolean(),
  windowsOpened: z.int().min(0),
  /** Small JPEGs in base64. */
  pictures: z
    .array(z.object({ atSeconds: z.int().min(0), jpeg: z.base64().max(2 * limits.save.picture.bytes) }))
    .max(pictureSeconds.length),
  refusals: z.array(Refusal).max(refusals),
  /** The game's last report; null if it never started. */
  game: GameTermination.nullable(),
});
export type SessionObservations = z.infer<typeof SessionObservations>;

/**
 * The files by which node agent and packer exchange saves, in the session's folder on the node; nodeLayout.ts
 * has their names. Each appears complete, by a rename. The packer runs beside hostile code, so the agent
 * trusts no more of what it finds than these schemas and the archive's own rules allow.
 */
import { z } from "zod";
import { byteCount, message, reasonName, sha256Hex, timestamp } from "./crd/schema.ts";

const uid = z.string().min(1).max(64).describe("Uid of the GameSession; files of another one are ignored.");

export { spoolFileBytes } from "./nodeLayout.ts";

/** Agent → packer: the content that the save directory starts with. */
export const RestoreOrder = z.strictObject({
  version: z.literal(1),
  uid,
  /** Absent for a new playthrough. */
  save: z.strictObject({ sha256: sha256Hex, bytes: byteCount }).optional(),
});
export type RestoreOrder = z.infer<typeof RestoreOrder>;

/** Packer → agent: the outcome of the order; once it is written, nothing is restored any more. */
export const RestoreReport = z.strictObject({
  version: z.literal(1),
  uid,
  /** Absent when the save directory is as it was ordered. */
  refused: z.strictObject({ reason: reasonName, message }).optional(),
});
export type RestoreReport = z.infer<typeof RestoreReport>;

/** Agent → packer: the player asked for a save; the next scan that begins after this answers it. */
export const SaveRequest = z.strictObject({ version: z.literal(1), uid, requestedAt: timestamp });
export type SaveRequest = z.infer<typeof SaveRequest>;

/** One pack of the save directory. */
export const PackedSave = z.strictObject({
  /** Counts the session's packs upward, through all runs of the packer. */
  sequence: z.int().min(1).max(999_999_999),
  /** Number of the packer's run that made it, from 1: two runs that overlap never give two packs one name. */
  attempt: z.int().min(1).max(999_999_999),
  sha256: sha256Hex,
  bytes: byteCount,
  /** Files and directories in it. */
  entries: z.int().min(0),
  files: z.int().min(0),
  /** What its files take in memory, in whole pages. */
  unpackedBytes: byteCount,
  packedAt: timestamp,
  /** What could not be packed, such as links and FIFOs, with the first of them as an example. */
  leftOut: z.strictObject({ count: z.int().min(1), example: message }).optional(),
});
export type PackedSave = z.infer<typeof PackedSave>;

/** Packer → agent: the newest pack, and the outcome of the last attempt. */
export const SpoolManifest = z.strictObject({
  version: z.literal(1),
  uid,
  /** Number of the packer's run, as in the names of the packs. */
  attempt: z.int().min(1).max(999_999_999),
  /** The game had ended before the last scan of its saves: nothing newer will follow. */
  final: z.boolean(),
  /** The newest good pack; absent before the first one. */
  save: PackedSave.optional(),
  /** The request that the last scan began after; only for an agent that asked. */
  answered: timestamp.optional(),
  /**
   * Why the save directory, as it was at the last scan, could not be packed; absent when `save` is that
   * state.
   */
  refused: z.strictObject({ reason: reasonName, message }).optional(),
});
export type SpoolManifest = z.infer<typeof SpoolManifest>;

/** The messages between the streamer and the packer, its child process. */

/** Streamer → packer: the game has ended, and its saves are final. */
export interface PackerCommand {
  t: "ended";
}

/**
 * Packer → streamer. `restored`: the launch no longer waits for the packer. `done`: the last pack, or the
 * reason why there is none, is in the spool.
 */
export interface PackerReport {
  t: "restored" | "done";
}

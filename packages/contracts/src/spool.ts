/**
 * The files through which the node agent and the packer exchange saves, in the session's directory on the
 * node. See nodeLayout.ts for their names. Each file is complete when it appears, because it is renamed into
 * place. The packer runs next to untrusted code, so the agent trusts only what these schemas and the archive
 * rules allow.
 */
import { z } from "zod";
import { byteCount, message, reasonName, sha256Hex, timestamp } from "./crd/schema.ts";

const uid = z.string().min(1).max(64).describe("Uid of the GameSession; files of another one are ignored.");

export { spoolFileBytes } from "./nodeLayout.ts";

/** Agent → packer: the initial content of the save directory. */
export const RestoreOrder = z.strictObject({
  version: z.literal(1),
  uid,
  /** Absent for a new playthrough. */
  save: z.strictObject({ sha256: sha256Hex, bytes: byteCount }).optional(),
});
export type RestoreOrder = z.infer<typeof RestoreOrder>;

/** Packer → agent: the result of the order. Nothing is restored after it is written. */
export const RestoreReport = z.strictObject({
  version: z.literal(1),
  uid,
  /** Absent if the save directory has the ordered content. */
  refused: z.strictObject({ reason: reasonName, message }).optional(),
});
export type RestoreReport = z.infer<typeof RestoreReport>;

/** Agent → packer: the player requested a save. The next scan that starts after this answers it. */
export const SaveRequest = z.strictObject({ version: z.literal(1), uid, requestedAt: timestamp });
export type SaveRequest = z.infer<typeof SaveRequest>;

/** One pack of the save directory. */
export const PackedSave = z.strictObject({
  /** Increases with each pack of the session, across all runs of the packer. */
  sequence: z.int().min(1).max(999_999_999),
  /**
   * Number of the packer's run, starting at 1, so that packs of two overlapping runs have different names.
   */
  attempt: z.int().min(1).max(999_999_999),
  sha256: sha256Hex,
  bytes: byteCount,
  /** Number of files and directories. */
  entries: z.int().min(0),
  files: z.int().min(0),
  /** Memory that its files use, in whole pages. */
  unpackedBytes: byteCount,
  packedAt: timestamp,
  /** Entries that could not be packed, such as links and FIFOs, with the first one as an example. */
  leftOut: z.strictObject({ count: z.int().min(1), example: message }).optional(),
});
export type PackedSave = z.infer<typeof PackedSave>;

/** Packer → agent: the latest pack, and the result of the last attempt. */
export const SpoolManifest = z.strictObject({
  version: z.literal(1),
  uid,
  /** Number of the packer's run, as in the names of packs. */
  attempt: z.int().min(1).max(999_999_999),
  /** Whether the game had ended before the last scan of its saves, so no newer pack follows. */
  final: z.boolean(),
  /** The latest valid pack; absent before the first one. */
  save: PackedSave.optional(),
  /** The request that preceded the last scan; only if the agent made one. */
  answered: timestamp.optional(),
  /**
   * Why the save directory could not be packed in its state at the last scan. Absent if `save` is that state.
   */
  refused: z.strictObject({ reason: reasonName, message }).optional(),
});
export type SpoolManifest = z.infer<typeof SpoolManifest>;

/** The messages between the streamer and the packer, its child process. */

/**
 * Streamer → packer. `ended`: the game has ended, and its saves are final. `picture`: what the display shows
 * now, as a JPEG in base64, for the packs that follow.
 */
export type PackerCommand = { t: "ended" } | { t: "picture"; jpeg: string };

/**
 * Packer → streamer. `restored`: the launch no longer waits for the packer. `done`: the last pack, or the
 * reason why it is missing, is in the spool.
 */
export interface PackerReport {
  t: "restored" | "done";
}

/**
 * How node agent and packer hand saves to each other: by files in the session's folder on the node, named in nodeLayout.ts. Each appears by
 * one rename, complete. The packer runs beside hostile code, so the agent accepts only what these schemas and the archive's own
 * rules allow.
 */
import { z } from "zod";
import { byteCount, message, reasonName, sha256Hex, timestamp } from "./crd/schema.ts";

const uid = z.string().min(1).max(64).describe("Uid of the GameSession: files of another one count as absent.");

/** Agent → packer: what the save directory starts as. */
export const RestoreOrder = z.strictObject({
  version: z.literal(1),
  uid,
  /** Absent for a new playthrough. */
  save: z.strictObject({ sha256: sha256Hex, bytes: byteCount }).optional(),
});
export type RestoreOrder = z.infer<typeof RestoreOrder>;

/** Packer → agent: what became of the order; once it is there, nothing is restored any more. */
export const RestoreReport = z.strictObject({
  version: z.literal(1),
  uid,
  /** Absent when the save directory is as it was ordered. */
  refused: z.strictObject({ reason: reasonName, message }).optional(),
});
export type RestoreReport = z.infer<typeof RestoreReport>;

/** One pack of the save directory. */
export const PackedSave = z.strictObject({
  /** Counts the session's packs upward, through all runs of the packer. */
  sequence: z.int().min(1).max(999_999_999),
  /** Which run of the packer made it, from 1: two runs that overlap never give two packs the same name. */
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

/** Packer → agent: the newest pack, and how the last try went. */
export const SpoolManifest = z.strictObject({
  version: z.literal(1),
  uid,
  /** The packer's run, as in the names of the packs. */
  attempt: z.int().min(1).max(999_999_999),
  /** The game had ended before the last look at its saves: nothing newer will come. */
  final: z.boolean(),
  /** The newest good pack; absent before the first one. */
  save: PackedSave.optional(),
  /** Why the save directory, as it was at the last look, could not be packed; absent when `save` is that look. */
  refused: z.strictObject({ reason: reasonName, message }).optional(),
});
export type SpoolManifest = z.infer<typeof SpoolManifest>;

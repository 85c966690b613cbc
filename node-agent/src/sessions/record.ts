import { z } from "zod";
import { StoredSave } from "#contracts/crd/gameSession.ts";
import { objectKey, objectName, sha256Hex } from "#contracts/crd/schema.ts";

/** How the storing of a session's last save ended. */
export const SaveOutcome = z.object({
  reason: z.enum(["Stored", "NothingToSave", "Unchanged", "SaveTooLarge"]),
  message: z.string(),
});
export type SaveOutcome = z.infer<typeof SaveOutcome>;

/**
 * What the node must know of a session to store its save, even when the agent was restarted and the GameSession is gone:
 * lies as session.json beside the save directory.
 */
export const SessionRecord = z.object({
  version: z.literal(1),
  namespace: objectName,
  gameSession: objectName,
  uid: z.string(),
  contentDigest: sha256Hex,
  slotId: z.string(),
  /** Generation that the session started from; its own saves have the next one. */
  baseGeneration: z.int().min(0),
  /** Save that was restored. */
  baseSave: z.object({ objectKey, sha256: sha256Hex }).optional(),
  /** Number of the last save begun, stored or not: no key is used twice. */
  sequence: z.int().min(0),
  /** Newest stored save. */
  stored: StoredSave.optional(),
  /** Set when nothing more is to be stored. */
  outcome: SaveOutcome.optional(),
});
export type SessionRecord = z.infer<typeof SessionRecord>;

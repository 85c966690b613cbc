import { z } from "zod";
import { StoredSave } from "#contracts/crd/gameSession.ts";
import { message, objectKey, objectName, reasonName, sha256Hex } from "#contracts/crd/schema.ts";
import { attemptOf, isEarlier, type SavePosition } from "#contracts/objectKeys.ts";

/** The result of storing a session's last save: a reason of condition SavePersisted, with its message. */
export const SaveOutcome = z.object({ reason: reasonName, message });
export type SaveOutcome = z.infer<typeof SaveOutcome>;

/**
 * The data that the node needs to store a session's save even after the agent was restarted and the
 * GameSession deleted. Stored as session.json in the session's folder, readable only by the agent.
 */
export const SessionRecord = z.object({
  version: z.literal(2),
  namespace: objectName,
  gameSession: objectName,
  uid: z.string(),
  contentDigest: sha256Hex,
  slotId: z.string(),
  /** Generation that the session started from. Its own saves have the next one. */
  baseGeneration: z.int().min(0),
  /** Save that was restored. */
  baseSave: z.object({ objectKey, sha256: sha256Hex }).optional(),
  /**
   * Offset of the packer's pack numbers, so that they do not overlap with those of the session's other nodes.
   */
  sequence: z.int().min(0),
  /** Newest stored save. */
  stored: StoredSave.optional(),
  /** Set when nothing more is to be stored. */
  outcome: SaveOutcome.optional(),
});
export type SessionRecord = z.infer<typeof SessionRecord>;

/**
 * Returns the record with the save from the session's status if that is a later one of this session. This
 * happens if a full disk did not take the record that names it and the agent that had it in memory has
 * exited.
 */
export function withReported(record: SessionRecord, reported: StoredSave | undefined): SessionRecord {
  if (reported?.generation !== record.baseGeneration + 1) return record;
  return record.stored === undefined || isEarlier(positionOf(record.stored), positionOf(reported))
    ? { ...record, stored: reported }
    : record;
}

function positionOf({ objectKey: key, sequence }: StoredSave): SavePosition {
  return { sequence, attempt: attemptOf(key) };
}

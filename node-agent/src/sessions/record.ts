import { z } from "zod";
import { StoredSave } from "#contracts/crd/gameSession.ts";
import { message, objectKey, objectName, reasonName, sha256Hex } from "#contracts/crd/schema.ts";
import { attemptOf, isEarlier, type SavePosition } from "#contracts/objectKeys.ts";

/** How the storing of a session's last save ended: a reason of condition SavePersisted, with its message. */
export const SaveOutcome = z.object({ reason: reasonName, message });
export type SaveOutcome = z.infer<typeof SaveOutcome>;

/**
 * What the node must know of a session to store its save, even when the agent was restarted and the
 * GameSession is gone: lies as session.json in the session's folder, for the agent alone to read.
 */
export const SessionRecord = z.object({
  version: z.literal(2),
  namespace: objectName,
  gameSession: objectName,
  uid: z.string(),
  contentDigest: sha256Hex,
  slotId: z.string(),
  /** Generation that the session started from; its own saves have the next one. */
  baseGeneration: z.int().min(0),
  /** Save that was restored. */
  baseSave: z.object({ objectKey, sha256: sha256Hex }).optional(),
  /** Offset of the packer's count of packs: a number that the session's other nodes do not reach. */
  sequence: z.int().min(0),
  /** Newest stored save. */
  stored: StoredSave.optional(),
  /** Set when nothing more is to be stored. */
  outcome: SaveOutcome.optional(),
});
export type SessionRecord = z.infer<typeof SessionRecord>;

/**
 * Returns the record with the save that the session's status shows, where that is a later one of this
 * session: a disk that was full has not taken the record that names it, and the agent that remembered it has
 * ended.
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

import type { StoredSave } from "#contracts/crd/gameSession.ts";
import type { Queryable } from "../stores/queryable.ts";

/** Whether the session's save of that request, or of a later one, is a version already. */
export async function hasRequestedVersion(
  db: Queryable,
  slotId: string,
  gameSession: string,
  requestedAt: string,
): Promise<boolean> {
  const { rowCount } = await db.query({
    name: "has-requested-version",
    text: "SELECT FROM save_versions WHERE slot_id = $1 AND game_session = $2 AND kind = 'requested' AND stored_at >= $3 LIMIT 1",
    values: [slotId, gameSession, requestedAt],
  });
  return rowCount === 1;
}

/**
 * Stores the version of a request with the request's time. The node's clock says when the save was stored
 * there, and could make a later request look like one that is fulfilled.
 */
export async function insertRequestedVersion(
  transaction: Queryable,
  slotId: string,
  gameSession: string,
  save: StoredSave & { requestedAt: string; attempt: number },
): Promise<void> {
  await transaction.query({
    name: "insert-requested-version",
    text: `INSERT INTO save_versions (slot_id, kind, game_session, object_key, sha256, bytes, unpacked_bytes, generation, sequence, attempt, stored_at)
      VALUES ($1, 'requested', $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
    values: [
      slotId,
      gameSession,
      save.objectKey,
      save.sha256,
      save.bytes,
      save.unpackedBytes ?? null,
      save.generation,
      save.sequence,
      save.attempt,
      save.requestedAt,
    ],
  });
}

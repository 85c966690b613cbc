import { limits } from "#contracts/limits.ts";
import type { Logger } from "#runtime/logger.ts";
import type { Metrics } from "../metrics.ts";
import type { ObjectStore } from "../stores/objectStore.ts";
import type { Postgres } from "../stores/postgres.ts";
import { insertLateSave, type LateSaveKind } from "./lateSaveQueries.ts";
import type { NamedSaveObject } from "./newestSave.ts";
import { SaveObjectStore } from "./saveObjectStore.ts";
import type { SlotRecord } from "./sweepPlan.ts";

/** What adopting unrecorded saves needs. */
export interface AdoptUnrecordedSavesDeps {
  logger: Logger;
  metrics: Pick<Metrics, "saveConflictStored">;
  postgres: Postgres;
  objectStore: ObjectStore;
}

/**
 * Keeps saves that were stored and never recorded as versions of their slot; returns how many. One that
 * cannot be read is left for the next sweep.
 */
export async function adoptUnrecordedSaves(
  { logger, metrics, postgres, objectStore }: AdoptUnrecordedSavesDeps,
  slotId: string,
  record: SlotRecord,
  saves: readonly NamedSaveObject[],
): Promise<number> {
  let adopted = 0;
  for (const save of saves) {
    const keys = { slot: slotId, gameSession: save.gameSession, objectKey: save.key };
    try {
      const inspected = await new SaveObjectStore(objectStore).inspect(save.key, limits.save.packedBytes);
      const { gameSession, generation, sequence, attempt } = save;
      const late = { slotId, gameSession, objectKey: save.key, ...inspected, generation, sequence, attempt };
      const kind = kindOf(save, record);
      if (!(await insertLateSave(postgres.pool, late, kind))) continue;
      adopted++;
      if (kind.kind === "conflict") metrics.saveConflictStored();
      logger.warn(
        { ...keys, kind: kind.kind, unpackedBytes: inspected.unpackedBytes },
        "The sweeper found a save that nobody had recorded, and keeps it as a version.",
      );
    } catch (error) {
      logger.error({ err: error, ...keys }, "The sweeper cannot read a save that nobody has recorded.");
    }
  }
  return adopted;
}

/**
 * The saves that releases without versions kept of earlier sessions are these sessions' last; all others came
 * when the slot was not their own.
 */
function kindOf({ gameSession, generation, storedAt }: NamedSaveObject, record: SlotRecord): LateSaveKind {
  const isFromBefore =
    generation < record.generation &&
    record.versions.every((version) => version.gameSession !== gameSession && storedAt < version.storedAt);
  return isFromBefore ? { kind: "played", storedAt } : { kind: "conflict" };
}

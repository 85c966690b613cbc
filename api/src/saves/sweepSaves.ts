import type { Clock } from "#runtime/scheduling/clock.ts";
import type { Logger } from "#runtime/logger.ts";
import type { Metrics } from "../metrics.ts";
import type { ObjectStore } from "../stores/objectStore.ts";
import { idleTransactionMs, type Postgres } from "../stores/postgres.ts";
import { findDatabaseNow, type Queryable } from "../stores/queryable.ts";
import { refusedPerPassMax, RefusedRows } from "../stores/sweepRows.ts";
import { graceMs, keptVersions, type HistoryRule, planSweep } from "./sweepPlan.ts";
import { SaveObjectStore, type NamedSaveObject } from "./saveObjectStore.ts";
import {
  deleteSaveVersions,
  deleteSweep,
  findSweptSlot,
  lockDueSweep,
  updateSweepDue,
  type SaveSweep,
  type SweptSlotRecord,
} from "./saveSweepQueries.ts";
import { deleteUnusedPictures } from "./savePictureQueries.ts";
import { listSaveVersions, lockSlot, type SaveVersion, insertLateSave } from "./saveVersionQueries.ts";
import { limits } from "#contracts/limits.ts";

/** A node agent retries storing a save. After this time the save is given up. */
export const savePatienceMs = 24 * 3600 * 1000;

/** Dependencies of sweeping saves. */
export interface SweepSavesDeps {
  config: { saves: HistoryRule };
  logger: Logger;
  clock: Clock;
  metrics: Pick<Metrics, "saveConflictStored">;
  postgres: Postgres;
  objectStore: ObjectStore;
}

const slotsPerPassMax = 200;
const dayMs = 24 * 3600_000;
/**
 * The slot stays locked while the object store removes versions. This leaves a margin below the time after
 * which Postgres aborts an idle transaction.
 */
const removalMs = idleTransactionMs - 3_000;
/**
 * A node that was unavailable for less than this time may still store saves. It cannot report them, because
 * the object of their session is gone.
 */
const absentNodeMs = 30 * dayMs;
/**
 * Times after its removal at which a slot is emptied again: an hour after nodes stop retrying, because clocks
 * differ, and when unavailable nodes no longer store anything. Nothing is listed in between.
 */
const emptiedAgainMs = [savePatienceMs + 3600_000, absentNodeMs];

/**
 * Sweeps the saves of due slots: records unrecorded saves, and removes versions outside the retention of
 * decision 17. Ages are computed by the database's clock, which recorded the arrival of each save.
 */
export async function sweepSaves(
  deps: SweepSavesDeps,
  findNow: (db: Queryable) => Promise<Date> = findDatabaseNow,
  refused = new RefusedRows(deps.clock),
): Promise<void> {
  const {
    postgres: { pool },
    logger,
  } = deps;
  for (
    let count = 0, refusedCount = 0;
    count < slotsPerPassMax && refusedCount < refusedPerPassMax;
    count++
  ) {
    const sweep = await lockDueSweep(pool);
    if (sweep === undefined) return;
    const now = await findNow(pool);
    // A failed sweep is due again when its lease ends.
    const isSwept = await refused.attempt(
      sweep.slotId,
      () => sweepSlot(deps, sweep, now),
      (error) => {
        logger.error(
          { err: error, slot: sweep.slotId },
          "The sweeper could not sweep the saves of a slot; it will retry.",
        );
      },
    );
    if (!isSwept) refusedCount++;
  }
}

async function sweepSlot(deps: SweepSavesDeps, sweep: SaveSweep, now: Date): Promise<void> {
  const {
    postgres: { pool },
    logger,
  } = deps;
  const swept = await findSweptSlot(pool, sweep.slotId);
  if (swept === undefined) return;
  if (swept.slot !== null) return sweepHistory(deps, sweep, swept.slot, now);
  if (swept.deletedAt !== null) return sweepDeleted(deps, sweep, swept.deletedAt, now);
  logger.error(
    { slot: sweep.slotId },
    "A slot is missing although nobody deleted it. Its saves are kept, because a restored database may lack the slot for a while.",
  );
  await updateSweepDue(pool, sweep, later(now, dayMs), null);
}

/** Removes all saves of a slot after its retention, and again later for late saves. */
async function sweepDeleted(
  { postgres: { pool }, objectStore, config, logger }: SweepSavesDeps,
  sweep: SaveSweep,
  deletedAt: Date,
  now: Date,
): Promise<void> {
  const keptUntil = later(deletedAt, config.saves.retentionMs);
  if (now < keptUntil) return updateSweepDue(pool, sweep, keptUntil, null);
  const saveObjects = new SaveObjectStore(objectStore);
  const saves = await saveObjects.list(sweep.slotId);
  await saveObjects.remove(saves.map(({ key }) => key));
  await deleteSaveVersions(pool, sweep.slotId);
  await deleteUnusedPictures(pool, sweep.slotId);
  if (saves.length > 0)
    logger.info(
      { slot: sweep.slotId, removed: saves.length },
      "The sweeper removed the saves of a deleted slot.",
    );
  const againAt = emptiedAgainMs.map((ms) => later(deletedAt, ms)).find((at) => now < at);
  await (againAt === undefined ? deleteSweep(pool, sweep) : updateSweepDue(pool, sweep, againAt, null));
}

async function sweepHistory(
  deps: SweepSavesDeps,
  sweep: SaveSweep,
  slot: SweptSlotRecord,
  now: Date,
): Promise<void> {
  const {
    postgres: { pool },
    objectStore,
    logger,
  } = deps;
  const saveObjects = new SaveObjectStore(objectStore);
  const slotId = sweep.slotId;
  // The records are read before the objects are listed, and only ever advance: a save that they supersede
  // stays superseded, and a save that they name is in the list.
  const versions = await listSaveVersions(pool, [slotId]);
  const objects = await saveObjects.list(slotId);
  if (slot.objectKey !== null && !objects.some(({ key }) => key === slot.objectKey)) {
    logger.error({ slot: slotId, objectKey: slot.objectKey }, "A slot's save is not in the object store.");
    return updateSweepDue(pool, sweep, later(now, dayMs), slot.objectKey);
  }
  const plan = planSweep(objects, { ...slot, versions }, now);
  const adopted = await adoptUnrecordedSaves(deps, slotId, plan.unrecorded);
  await saveObjects.remove(plan.superseded);
  const { kept, removed } = await removeUnkeptVersions(deps, saveObjects, {
    slotId,
    unfinished: plan.unfinished,
    now,
  });
  await deleteUnusedPictures(pool, slotId);
  if (plan.superseded.length + removed + adopted > 0) {
    logger.info(
      {
        slot: slotId,
        removed: plan.superseded.length,
        versionsRemoved: removed,
        versionsKept: kept,
        adopted,
      },
      "The sweeper removed saves that are no longer needed.",
    );
  }
  if (plan.unfinished.size > 0) return updateSweepDue(pool, sweep, later(now, graceMs), slot.objectKey);
  // Versions expire, so the slot is swept again while it has more than its current save.
  const canReceiveSaves = now.getTime() - Date.parse(slot.lastPlayedAt) < absentNodeMs;
  await (kept > 1 || canReceiveSaves
    ? updateSweepDue(pool, sweep, later(now, dayMs), slot.objectKey)
    : deleteSweep(pool, sweep));
}

/**
 * Removes dropped versions, and objects that no other version references. The slot is locked, so none of them
 * is restored. If the process dies, the next sweep removes the rest.
 */
async function removeUnkeptVersions(
  { postgres, config }: SweepSavesDeps,
  saveObjects: SaveObjectStore,
  { slotId, unfinished, now }: { slotId: string; unfinished: ReadonlySet<string>; now: Date },
): Promise<{ kept: number; removed: number }> {
  return postgres.transaction(async (transaction) => {
    // A launch reads the slot's current save, which is kept. It must not wait for the object store, because
    // all other launches would wait for it.
    const slot = await lockSlot(transaction, slotId, { letsLaunch: true });
    const versions = await listSaveVersions(transaction, [slotId]);
    const wanted = new Set(keptVersions(versions, config.saves, now));
    const isKept = (version: SaveVersion): boolean =>
      wanted.has(version) || (version.gameSession !== null && unfinished.has(version.gameSession));
    const [kept, unkept] = [versions.filter(isKept), versions.filter((version) => !isKept(version))];
    if (slot === undefined || unkept.length === 0) return { kept: versions.length, removed: 0 };
    const names = new Set([slot.objectKey, ...kept.map(({ objectKey }) => objectKey)]);
    await saveObjects.remove(
      [...new Set(unkept.map(({ objectKey }) => objectKey))].filter((key) => !names.has(key)),
      removalMs,
    );
    await deleteSaveVersions(
      transaction,
      slotId,
      unkept.map(({ id }) => id),
    );
    return { kept: kept.length, removed: unkept.length };
  });
}

function later(time: Date, ms: number): Date {
  return new Date(time.getTime() + ms);
}

/** Dependencies of adopting unrecorded saves. */
interface AdoptUnrecordedSavesDeps {
  logger: Logger;
  metrics: Pick<Metrics, "saveConflictStored">;
  postgres: Postgres;
  objectStore: ObjectStore;
}

/**
 * Keeps stored but unrecorded saves as conflict copies of their slot and returns their number. An unreadable
 * save is left to the next sweep.
 */
async function adoptUnrecordedSaves(
  { logger, metrics, postgres, objectStore }: AdoptUnrecordedSavesDeps,
  slotId: string,
  saves: readonly NamedSaveObject[],
): Promise<number> {
  let adopted = 0;
  for (const save of saves) {
    const keys = { slot: slotId, gameSession: save.gameSession, objectKey: save.key };
    try {
      const inspected = await new SaveObjectStore(objectStore).inspect(save.key, limits.save.packedBytes);
      const { gameSession, generation, sequence, attempt } = save;
      const late = { slotId, gameSession, objectKey: save.key, ...inspected, generation, sequence, attempt };
      if (!(await insertLateSave(postgres.pool, late))) continue;
      adopted++;
      metrics.saveConflictStored();
      logger.warn(
        { ...keys, kind: "conflict", unpackedBytes: inspected.unpackedBytes },
        "The sweeper found an unrecorded save and keeps it as a version.",
      );
    } catch (error) {
      logger.error({ err: error, ...keys }, "The sweeper cannot read an unrecorded save.");
    }
  }
  return adopted;
}

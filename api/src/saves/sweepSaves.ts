import type { Clock } from "#runtime/clock.ts";
import type { Logger } from "#runtime/logger.ts";
import type { ObjectStore } from "../stores/objectStore.ts";
import type { Postgres } from "../stores/postgres.ts";
import { SaveObjectStore } from "./saveObjectStore.ts";
import type { StoredSaveObject } from "./newestSave.ts";
import { findSupersededSaves, type SupersededSaves } from "./supersededSaves.ts";
import { deleteSweep, findSlotObjectKey, lockDueSweep, updateSweepDue, type SaveSweep } from "./saveSweepQueries.ts";
import { savePatienceMs } from "./savePatience.ts";

/** What sweeping saves needs. */
export interface SweepSavesDeps {
  config: { saves: { retentionMs: number } };
  logger: Logger;
  clock: Clock;
  postgres: Postgres;
  objectStore: ObjectStore;
}

const slotsPerPassMax = 200;
/** After this long no node delivers a save to a removed slot any more; an hour more than nodes try, for clocks that differ. */
const lateSaveMs = savePatienceMs + 3600_000;

/** Removes the saves that nobody needs any more, slot by slot: those that later saves of the slot superseded, and all saves of a deleted slot. */
export async function sweepSaves(deps: SweepSavesDeps): Promise<void> {
  for (let count = 0; count < slotsPerPassMax; count++) {
    const sweep = await lockDueSweep(deps.postgres.pool);
    if (sweep === undefined) return;
    await sweepSlot(deps, sweep);
  }
}

async function sweepSlot({ postgres, objectStore, config, logger, clock }: SweepSavesDeps, sweep: SaveSweep): Promise<void> {
  const saveObjects = new SaveObjectStore(objectStore);
  const { slotId: slot } = sweep;
  // The slot is read before the listing: it only moves on, so what is superseded now stays so, and what it points to is listed.
  const current = await findSlotObjectKey(postgres.pool, slot);
  const saves = await saveObjects.list(slot);
  if (typeof current === "string" && !saves.some(({ key }) => key === current)) logger.error({ slot, objectKey: current }, "A slot's save is not in the object store.");
  const now = clock.now();
  const { keys, nextAt } = current === undefined ? allSaves(saves, sweep, now) : findSupersededSaves(saves, current, { now, ...config.saves });
  await saveObjects.remove(keys);
  await (nextAt === undefined ? deleteSweep(postgres.pool, sweep) : updateSweepDue(postgres.pool, sweep, nextAt));
  if (keys.length > 0) logger.info({ slot, removed: keys.length, kept: saves.length - keys.length }, "The sweeper removed superseded saves.");
}

/** Returns every save of a deleted slot, which is swept once more when no save can come any longer. */
function allSaves(saves: readonly StoredSaveObject[], { slotDeletedAt }: SaveSweep, now: Date): SupersededSaves {
  const lastMs = (slotDeletedAt ?? now).getTime() + lateSaveMs;
  return { keys: saves.map(({ key }) => key), nextAt: now.getTime() >= lastMs ? undefined : new Date(lastMs) };
}

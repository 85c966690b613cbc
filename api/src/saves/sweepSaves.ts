import type { Clock } from "#runtime/clock.ts";
import type { Logger } from "#runtime/logger.ts";
import type { ObjectStore } from "../stores/objectStore.ts";
import type { Postgres } from "../stores/postgres.ts";
import { SaveStore } from "./saveStore.ts";
import { findSupersededSaves, type StoredSaveObject, type SupersededSaves } from "./supersededSaves.ts";
import { claimDueSweep, endSweep, readSlotKey, type SaveSweep } from "./saveSweepStore.ts";
import { savePatienceMs } from "./savePatience.ts";

/** What sweeping saves needs. */
export interface SweepSavesDeps {
  config: { saves: { retentionMs: number } };
  logger: Logger;
  clock: Clock;
  postgres: Postgres;
  objectStore: ObjectStore;
}

const mostSlotsPerPass = 200;
/** The last moment for a save that a node still had when its slot was removed, and something for clocks. */
const lateSaveMs = savePatienceMs + 3600_000;

/** Removes the saves that nobody needs any more, slot by slot: what a slot's later saves superseded, and all of a slot that is gone. */
export async function sweepSaves(deps: SweepSavesDeps): Promise<void> {
  for (let count = 0; count < mostSlotsPerPass; count++) {
    const sweep = await claimDueSweep(deps.postgres.pool);
    if (sweep === undefined) return;
    await sweepSlot(deps, sweep);
  }
}

async function sweepSlot({ postgres, objectStore, config, logger, clock }: SweepSavesDeps, sweep: SaveSweep): Promise<void> {
  const store = new SaveStore(objectStore);
  const { slotId: slot } = sweep;
  // Read first: a slot only ever moves on, so that what is superseded now stays so, and what it points to is there to be listed.
  const current = await readSlotKey(postgres.pool, slot);
  const saves = await store.list(slot);
  if (typeof current === "string" && !saves.some(({ key }) => key === current)) logger.error({ slot, objectKey: current }, "A slot's save is not in the object store.");
  const now = clock.now();
  const { keys, nextAt } = current === undefined ? allOf(saves, sweep, now) : findSupersededSaves(saves, current, { now, ...config.saves });
  await store.remove(keys);
  await endSweep(postgres.pool, sweep, nextAt);
  if (keys.length > 0) logger.info({ slot, removed: keys.length, kept: saves.length - keys.length }, "Superseded saves were removed.");
}

/** Of a slot that is gone; it is looked for once more when nothing can come any longer. */
function allOf(saves: readonly StoredSaveObject[], { slotDeletedAt }: SaveSweep, now: Date): SupersededSaves {
  const lastMs = (slotDeletedAt ?? now).getTime() + lateSaveMs;
  return { keys: saves.map(({ key }) => key), nextAt: now.getTime() >= lastMs ? undefined : new Date(lastMs) };
}

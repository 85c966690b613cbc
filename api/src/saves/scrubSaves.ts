import type { Clock } from "#runtime/scheduling/clock.ts";
import type { Logger } from "#runtime/logger.ts";
import type { ObjectStore } from "../stores/objectStore.ts";
import type { Postgres } from "../stores/postgres.ts";
import {
  countUnreadable,
  findDueCheck,
  updateCheckDue,
  updateObjectReadable,
  type CheckedObject,
} from "./saveVersionQueries.ts";
import { checkSave } from "./savedObject.ts";

/** What the scrub needs. */
export interface ScrubSavesDeps {
  config: { saves: { scrub: { intervalSeconds: number; bytesPerSecond: number } | undefined } };
  logger: Logger;
  clock: Clock;
  postgres: Postgres;
  objectStore: ObjectStore;
  metrics: {
    saveChecked(found: "whole" | "missing" | "damaged"): void;
    setUnreadableSaves(count: number): void;
  };
}

const savesPerPassMax = 10_000;
/** An object that could not be read is tried again after this, and no other is held up by it meanwhile. */
const retrySeconds = 3600;

/**
 * Reads every kept save whose check is due, one after another and no faster than configured, and notes those
 * that are missing or damaged, or whole again. What a process leaves undone stays due.
 */
export async function scrubSaves(deps: ScrubSavesDeps, signal: AbortSignal): Promise<void> {
  const {
    postgres: { pool },
    config: {
      saves: { scrub },
    },
  } = deps;
  for (let count = 0; scrub !== undefined && count < savesPerPassMax && !signal.aborted; count++) {
    const save = await findDueCheck(pool);
    if (save === undefined) break;
    await scrubSave(deps, save, scrub, signal);
  }
}

/**
 * Tells how many kept saves were found missing or damaged: a pass of checks may take hours, and there may be
 * another leader meanwhile.
 */
export async function tellUnreadableSaves({
  postgres: { pool },
  metrics,
}: Pick<ScrubSavesDeps, "postgres" | "metrics">): Promise<void> {
  metrics.setUnreadableSaves(await countUnreadable(pool));
}

async function scrubSave(
  deps: ScrubSavesDeps,
  save: CheckedObject,
  { intervalSeconds, bytesPerSecond }: { intervalSeconds: number; bytesPerSecond: number },
  signal: AbortSignal,
): Promise<void> {
  const {
    postgres: { pool },
    objectStore,
    logger,
    clock,
    metrics,
  } = deps;
  const { slotId: slot, objectKey } = save;
  try {
    const found = await checkSave(objectStore, save, (bytes) =>
      clock.sleep((1000 * bytes) / bytesPerSecond, signal),
    );
    metrics.saveChecked(found);
    const hasChanged = await updateObjectReadable(pool, save, found === "whole");
    if (hasChanged) {
      if (found === "whole") logger.info({ slot, objectKey }, "A save that was unreadable is whole again.");
      else logger.error({ slot, objectKey, found }, "A save is unreadable.");
    }
    await updateCheckDue(pool, save, intervalSeconds);
  } catch (error) {
    if (signal.aborted) return;
    logger.warn({ err: error, slot, objectKey }, "A save could not be read to check it; it is tried again.");
    await updateCheckDue(pool, save, Math.min(retrySeconds, intervalSeconds));
  }
}

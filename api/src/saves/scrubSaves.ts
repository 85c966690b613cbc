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

/** Dependencies of the scrub. */
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
/** Delay before an unreadable object is retried, without delaying others. */
const retrySeconds = 3600;

/**
 * Reads all saves whose check is due, one at a time and at the configured rate, and records which are
 * missing, damaged, or intact again. Unfinished work stays due.
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
 * Reports the number of missing or damaged saves. A pass may take hours, during which the leader may change.
 */
export async function reportUnreadableSaves({
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
      if (found === "whole") logger.info({ slot, objectKey }, "An unreadable save is intact again.");
      else logger.error({ slot, objectKey, found }, "A save is unreadable.");
    }
    await updateCheckDue(pool, save, intervalSeconds);
  } catch (error) {
    if (signal.aborted) return;
    logger.warn({ err: error, slot, objectKey }, "A save could not be checked; the API will retry.");
    await updateCheckDue(pool, save, Math.min(retrySeconds, intervalSeconds));
  }
}

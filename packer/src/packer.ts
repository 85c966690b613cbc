import { setTimeout as sleep } from "node:timers/promises";
import type { PackerReport } from "#contracts/packerMessages.ts";
import type { PackerConfig } from "./config.ts";
import type { Logger } from "#runtime/logger.ts";
import { createSavePacker, type SavePacker } from "./pack/savePacker.ts";
import { nextPauseMs } from "./pause.ts";
import { restorePlace, type RestorePlace } from "./restore/restorePlace.ts";
import { finishRestore, restoreSave, type Restored } from "./restore/restoreSave.ts";
import { Refusal } from "./refusal.ts";
import { readReport } from "./spool/history.ts";
import { awaitOrder } from "./spool/order.ts";
import { openSpool } from "./spool/spool.ts";

export interface PackerOptions {
  config: PackerConfig;
  log: Logger;
  /** Aborted when the game is over. */
  ended: AbortSignal;
  report: (report: PackerReport) => void;
}

/** One life of a session's packer: restores, packs what changes, and resolves after the last pack. */
export async function runPacker(options: PackerOptions): Promise<void> {
  const { config, log, ended, report } = options;
  const place = restorePlace(config);
  const restored = await ensureRestored(place, options);
  if (restored === undefined) return; // Nobody ordered anything, so no game ran.
  report({ t: "restored" });
  if (restored.refused) return awaitEnd(ended);
  const spool = await openSpool(config.spool, config.uid);
  const packer = createSavePacker({ saveDirectory: place.saveDirectory, spool, log, restored: restored.signature });
  await packUntil(ended, packer, config.spoolMs);
  await packer.finish();
}

async function ensureRestored(place: RestorePlace, { config: { uid }, log, ended }: PackerOptions): Promise<Restored | undefined> {
  const earlier = await readReport(place.spool, uid);
  if (earlier?.refused) return { refused: new Refusal(earlier.refused.reason, earlier.refused.message) };
  if (earlier) {
    finishRestore(place);
    return {};
  }
  const order = await awaitOrder({ spool: place.spool, uid, log, signal: ended });
  if (order === undefined) return undefined;
  const restored = await restoreSave(place, order);
  if (restored.refused) log.error({ reason: restored.refused.reason, detail: restored.refused.message }, "The save was not restored.");
  return restored;
}

async function packUntil(ended: AbortSignal, packer: SavePacker, spoolMs: number): Promise<void> {
  let pauseMs = nextPauseMs({ spoolMs, tookMs: 0, isSoon: false });
  while (await passes(pauseMs, ended)) {
    const startedAt = performance.now();
    // A pack that is under way when the game ends may be left: the last one comes after it.
    const next = await packer.look(ended).catch((error: unknown) => {
      if (!ended.aborted) throw error;
    });
    pauseMs = nextPauseMs({ spoolMs, tookMs: performance.now() - startedAt, isSoon: next === "soon" });
  }
}

async function awaitEnd(ended: AbortSignal): Promise<void> {
  const aDayMs = 24 * 3_600_000;
  while (await passes(aDayMs, ended));
}

/** Resolves with true after that time, with false as soon as the signal is aborted. */
async function passes(ms: number, signal: AbortSignal): Promise<boolean> {
  try {
    await sleep(ms, undefined, { signal });
    return true;
  } catch (error) {
    if (signal.aborted) return false;
    throw error;
  }
}

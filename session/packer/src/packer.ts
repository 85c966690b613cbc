import { setTimeout as delay } from "node:timers/promises";
import type { PackerReport } from "#contracts/spool.ts";
import type { PackerConfig } from "./config.ts";
import type { Logger } from "#runtime/logger.ts";
import { createSavePacker, type SavePacker } from "./pack/savePacker.ts";
import { nextScanDelayMs } from "./scanInterval.ts";
import { isRestored, restorePaths, type RestorePaths } from "./restore/saveDirectory.ts";
import { finishRestore, restoreSave, type Restored } from "./restore/restoreSave.ts";
import { SaveError } from "./errors.ts";
import { readManifest, readReport, readRequest, openSpool } from "./spool/spool.ts";
import { awaitOrder } from "./spool/restoreOrder.ts";

export interface PackerOptions {
  config: PackerConfig;
  logger: Logger;
  /** Aborted when the game is over. */
  ended: AbortSignal;
  report: (report: PackerReport) => void;
}

/** Runs a session's packer: restores the save, packs it when it changes, and resolves after the last pack. */
export async function runPacker(options: PackerOptions): Promise<void> {
  const { config, logger, ended, report } = options;
  const paths = restorePaths(config);
  const restored = await ensureRestored(paths, options);
  if (restored === undefined) return; // There was no order, so no game ran.
  report({ t: "restored" });
  if (restored.error) return awaitEnd(ended);
  const spool = await openSpool(config.spool, config.uid);
  const packer = createSavePacker({
    saveDirectory: paths.saveDirectory,
    spool,
    logger,
    restored: restored.signature,
    requestedAt: () => readRequest(paths.spool, config.uid),
  });
  await packUntil(ended, packer, config.spoolMs);
  await packer.finish();
}

async function ensureRestored(
  paths: RestorePaths,
  { config: { uid }, logger, ended }: PackerOptions,
): Promise<Restored | undefined> {
  const earlier = await readReport(paths.spool, uid);
  if (earlier?.refused) return { error: new SaveError(earlier.refused.reason, earlier.refused.message) };
  if (earlier && isRestored(paths)) {
    finishRestore(paths);
    return {};
  }
  const order = await awaitOrder({ spool: paths.spool, uid, logger, signal: ended });
  if (order === undefined) return undefined;
  // The node's folder outlives a pod that is removed while it starts. The pod after it has an empty volume,
  // and goes on from what was packed last.
  const packed = earlier && (await readManifest(paths.spool, uid))?.save;
  const restored = await restoreSave(paths, order, packed);
  if (restored.error)
    logger.error(
      { reason: restored.error.reason, detail: restored.error.message },
      "The save was not restored.",
    );
  return restored;
}

async function packUntil(ended: AbortSignal, packer: SavePacker, spoolMs: number): Promise<void> {
  let delayMs = nextScanDelayMs({ spoolMs, tookMs: 0, isSoon: false });
  while (await waits(delayMs, ended)) {
    const startedAt = performance.now();
    // A pack that is under way when the game ends may be abandoned: the last one follows.
    const next = await packer.packIfChanged(ended).catch((error: unknown) => {
      if (!ended.aborted) throw error;
    });
    delayMs = nextScanDelayMs({ spoolMs, tookMs: performance.now() - startedAt, isSoon: next === "soon" });
  }
}

async function awaitEnd(ended: AbortSignal): Promise<void> {
  const dayMs = 24 * 3_600_000;
  while (await waits(dayMs, ended));
}

/** Resolves with true after this time, with false as soon as the signal is aborted. */
async function waits(ms: number, signal: AbortSignal): Promise<boolean> {
  try {
    await delay(ms, undefined, { signal });
    return true;
  } catch (error) {
    if (signal.aborted) return false;
    throw error;
  }
}

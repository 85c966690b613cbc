import { setTimeout as delay } from "node:timers/promises";
import type { PackerReport } from "#contracts/spool.ts";
import type { PackerConfig } from "./config.ts";
import type { Logger } from "#runtime/logger.ts";
import { createSavePacker, type SavePacker } from "./pack/savePacker.ts";
import { nextScanDelayMs } from "./scanInterval.ts";
import { isRestored, restorePaths, type RestorePaths } from "./restore/saveDirectory.ts";
import { finishRestore, restoreSave, type Restored } from "./restore/restoreSave.ts";
import { SaveError } from "./errors.ts";
import { keepOutput } from "./spool/keepOutput.ts";
import { readManifest, readReport, readSaveRequest, openSpool } from "./spool/spool.ts";
import { awaitOrder } from "./spool/restoreOrder.ts";

export interface PackerOptions {
  config: PackerConfig;
  logger: Logger;
  /** Aborted when the game has ended. */
  ended: AbortSignal;
  report: (report: PackerReport) => void;
  /** Returns the latest picture of the game; undefined before the first one. */
  picture: () => Buffer | undefined;
}

/** Restores the save, packs it whenever it changes, and resolves after the last pack. */
export async function runPacker(options: PackerOptions): Promise<void> {
  const { config, logger, ended, report, picture } = options;
  const paths = restorePaths(config);
  const restored = await ensureRestored(paths, options);
  if (restored === undefined) return; // Without an order no game ran.
  report({ t: "restored" });
  if (restored.error) return waitForEnd(ended);
  const spool = await openSpool(config.spool, config.uid);
  const packer = createSavePacker({
    saveDirectory: paths.saveDirectory,
    spool,
    logger,
    restored: restored.signature,
    picture,
    readRequest: () => readSaveRequest(paths.spool, config.uid),
  });
  await packUntil(ended, packer, config.spoolMs);
  keepOutput(config, logger); // Before the last pack, after which the agent may finish.
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
  // The node's folder outlives a pod that is removed while it starts. The next pod has an empty volume and
  // continues from the last pack.
  const packed = earlier && (await readManifest(paths.spool, uid))?.save;
  const restored = await restoreSave(paths, order, packed);
  if (restored.error)
    logger.error(
      { reason: restored.error.reason, detail: restored.error.message },
      "The save could not be restored.",
    );
  return restored;
}

async function packUntil(ended: AbortSignal, packer: SavePacker, spoolMs: number): Promise<void> {
  let delayMs = nextScanDelayMs({ spoolMs, tookMs: 0, isSoon: false });
  while (await sleep(delayMs, ended)) {
    const startedAt = performance.now();
    // A pack in progress when the game ends may be abandoned: the last pack follows.
    const next = await packer.packIfChanged(ended).catch((error: unknown) => {
      if (!ended.aborted) throw error;
    });
    delayMs = nextScanDelayMs({ spoolMs, tookMs: performance.now() - startedAt, isSoon: next === "soon" });
  }
}

async function waitForEnd(ended: AbortSignal): Promise<void> {
  const dayMs = 24 * 3_600_000;
  while (await sleep(dayMs, ended));
}

/** Resolves to true after `ms`, or to false as soon as the signal is aborted. */
async function sleep(ms: number, signal: AbortSignal): Promise<boolean> {
  try {
    await delay(ms, undefined, { signal });
    return true;
  } catch (error) {
    if (signal.aborted) return false;
    throw error;
  }
}

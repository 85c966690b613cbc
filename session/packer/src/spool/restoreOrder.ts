import { watch, type FSWatcher } from "node:fs";
import { spoolNames } from "#contracts/nodeLayout.ts";
import type { RestoreOrder } from "#contracts/spool.ts";
import type { Logger } from "#runtime/logger.ts";
import { systemErrorCode } from "#runtime/errors.ts";
import { readSmallFile } from "./spoolFiles.ts";

/** Polling finds an order whose event was lost. */
const pollEveryMs = 1000;
/**
 * There may be no events at all: a game of another session runs as the same user and can use up that user's
 * watches.
 */
const pollUnwatchedEveryMs = 100;

export interface AwaitOrderOptions {
  spool: string;
  uid: string;
  logger: Logger;
  signal: AbortSignal;
}

/**
 * Resolves to this session's order as soon as it is in the spool, or to undefined when the signal is aborted.
 */
export async function awaitOrder({
  spool,
  uid,
  logger,
  signal,
}: AwaitOrderOptions): Promise<RestoreOrder | undefined> {
  const { promise, resolve } = Promise.withResolvers<RestoreOrder | undefined>();
  let hasWarned = false;
  const checkForOrder = (): void => {
    try {
      const text = readSmallFile(`${spool}/${spoolNames.order}`);
      if (text === undefined) return;
      const order = parseOrder(text);
      if (order?.uid === uid) resolve(order);
      else if (!hasWarned)
        logger.warn(
          { uid: order?.uid },
          "The restore order is for another session. The packer keeps waiting.",
        );
      hasWarned ||= order?.uid !== uid;
    } catch (error) {
      if (!hasWarned)
        logger.warn({ err: error }, "The restore order cannot be read. The packer keeps waiting.");
      hasWarned = true;
    }
  };
  const watcher = tryWatch(spool, checkForOrder);
  const timer = setInterval(checkForOrder, watcher ? pollEveryMs : pollUnwatchedEveryMs);
  const stop = (): void => resolve(undefined);
  signal.addEventListener("abort", stop);
  if (signal.aborted) stop();
  checkForOrder();
  try {
    return await promise;
  } finally {
    watcher?.close();
    clearInterval(timer);
    signal.removeEventListener("abort", stop);
  }
}

function tryWatch(folder: string, onEvent: () => void): FSWatcher | undefined {
  try {
    return watch(folder, onEvent).on("error", () => undefined); // Polling continues.
  } catch (error) {
    if (systemErrorCode(error) === undefined) throw error;
    return undefined;
  }
}

/**
 * Returns the order in a text; undefined when it is invalid. Checks by hand what the schema says: a launch
 * waits for this, and loading Zod takes longer than restoring a save.
 */
export function parseOrder(text: string): RestoreOrder | undefined {
  const value = parseRecord(text);
  if (value === undefined || !hasOnly(value, ["version", "uid", "save"])) return undefined;
  const { version, uid, save } = value;
  if (version !== 1 || typeof uid !== "string" || uid.length < 1 || uid.length > 64) return undefined;
  if (save === undefined) return { version, uid };
  if (!isRecord(save) || !hasOnly(save, ["sha256", "bytes"])) return undefined;
  const { sha256, bytes } = save;
  if (typeof sha256 !== "string" || !/^[0-9a-f]{64}$/.test(sha256)) return undefined;
  if (typeof bytes !== "number" || !Number.isSafeInteger(bytes) || bytes < 0) return undefined;
  return { version, uid, save: { sha256, bytes } };
}

function parseRecord(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined; // Not JSON.
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function hasOnly(value: Record<string, unknown>, keys: string[]): boolean {
  return Object.keys(value).every((key) => keys.includes(key));
}

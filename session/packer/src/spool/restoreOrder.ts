import { watch, type FSWatcher } from "node:fs";
import { spoolNames } from "#contracts/nodeLayout.ts";
import type { RestoreOrder } from "#contracts/spool.ts";
import type { Logger } from "#runtime/logger.ts";
import { systemErrorCode } from "#runtime/errors.ts";
import { readSmallFile } from "./spoolFiles.ts";

/** Polling finds an order whose event was lost. */
const pollEveryMs = 1000;
/**
 * There may be no events at all: a game of another session has the same user, and can use up the watches of
 * that user.
 */
const pollUnwatchedEveryMs = 100;

export interface AwaitOrderOptions {
  spool: string;
  uid: string;
  logger: Logger;
  signal: AbortSignal;
}

/**
 * Resolves with the order of this session as soon as it is in the spool, however long that takes; with
 * undefined when the signal is aborted.
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
        logger.warn({ uid: order?.uid }, "The order is not for this session; the packer goes on waiting.");
      hasWarned ||= order?.uid !== uid;
    } catch (error) {
      if (!hasWarned) logger.warn({ err: error }, "The order cannot be read; the packer goes on waiting.");
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
    return watch(folder, onEvent).on("error", () => undefined); // Polling goes on without it.
  } catch (error) {
    if (systemErrorCode(error) === undefined) throw error;
    return undefined;
  }
}

/**
 * Returns the order in a text, undefined when it is not valid. This checks by hand what the schema says,
 * because a launch waits for it and the schema's library takes longer to load than a save takes to restore.
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
    return undefined; // Not JSON, so no order.
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function hasOnly(value: Record<string, unknown>, keys: string[]): boolean {
  return Object.keys(value).every((key) => keys.includes(key));
}

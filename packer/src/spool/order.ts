import { watch, type FSWatcher } from "node:fs";
import { spoolNames } from "#contracts/nodeLayout.ts";
import type { RestoreOrder } from "#contracts/spool.ts";
import type { Logger } from "#runtime/logger.ts";
import { codeOf } from "../refusal.ts";
import { readSmallFile } from "./spoolFiles.ts";

/** An event may be lost. */
const lookEveryMs = 1000;
/** There may be no events at all: a game of another session has the same user, and can use up the watches that it may have. */
const lookUnwatchedEveryMs = 100;

export interface AwaitOrderOptions {
  spool: string;
  uid: string;
  log: Logger;
  signal: AbortSignal;
}

/** Resolves with the order of this session as soon as it lies in the spool, however long that takes; with undefined when the signal is aborted. */
export async function awaitOrder({ spool, uid, log, signal }: AwaitOrderOptions): Promise<RestoreOrder | undefined> {
  const { promise, resolve } = Promise.withResolvers<RestoreOrder | undefined>();
  let complained = false;
  const look = (): void => {
    try {
      const text = readSmallFile(`${spool}/${spoolNames.order}`);
      if (text === undefined) return;
      const order = parseOrder(text);
      if (order?.uid === uid) resolve(order);
      else if (!complained) log.warn({ uid: order?.uid }, "The order is none for this session; the packer goes on waiting.");
      complained ||= order?.uid !== uid;
    } catch (error) {
      if (!complained) log.warn({ err: error }, "The order cannot be read; the packer goes on waiting.");
      complained = true;
    }
  };
  const watcher = tryWatch(spool, look);
  const timer = setInterval(look, watcher ? lookEveryMs : lookUnwatchedEveryMs);
  const stop = (): void => resolve(undefined);
  signal.addEventListener("abort", stop);
  if (signal.aborted) stop();
  look();
  try {
    return await promise;
  } finally {
    watcher?.close();
    clearInterval(timer);
    signal.removeEventListener("abort", stop);
  }
}

function tryWatch(folder: string, look: () => void): FSWatcher | undefined {
  try {
    return watch(folder, look).on("error", () => undefined); // The looks go on without it.
  } catch (error) {
    if (codeOf(error) === undefined) throw error;
    return undefined;
  }
}

/**
 * Returns the order that a text is, undefined when it is none: what the schema says, by hand, since a launch waits for this and the
 * schema's library takes longer to load than a save takes to restore.
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
    return undefined; // No JSON is no order.
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function hasOnly(value: Record<string, unknown>, keys: string[]): boolean {
  return Object.keys(value).every((key) => keys.includes(key));
}

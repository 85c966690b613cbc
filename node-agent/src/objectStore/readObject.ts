import { backOffMs } from "#runtime/scheduling/backOff.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";
import { releaseBytes } from "#runtime/releaseMemory.ts";
import {
  isObjectStoreUnreachable,
  type ObjectLocation,
  type ObjectStore,
  ObjectStoreError,
} from "./objectStore.ts";

/** Options of readObject. */
export interface ReadOptions {
  objectStore: ObjectStore;
  location: ObjectLocation;
  /** An object of any other size is refused before a byte is read. */
  sizeBytes?: number | undefined;
  clock: Clock;
  random: () => number;
  signal: AbortSignal;
  /** Called with the ETag of the object being read. */
  onOpen?: ((etag: string) => void) | undefined;
  /** Called with the offset of each resumed connection. */
  onResume?: ((offset: number) => void) | undefined;
}

/** Maximum number of attempts without progress before the read fails. */
const maxFailures = 6;
const backOff = { baseMs: 200, maxMs: 5_000 };

/**
 * Yields the object's bytes in order. A lost connection is resumed at the same offset, pinned to the same
 * object by its ETag. A chunk's memory is released when the next chunk is requested.
 *
 * @throws ObjectStoreError
 */
export async function* readObject(options: ReadOptions): AsyncGenerator<Buffer, void, void> {
  const { objectStore, location, clock, random, signal } = options;
  let offset = 0;
  let etag: string | undefined;
  let failures = 0;
  for (;;) {
    try {
      const opened = await objectStore.open(location, { offset, etag }, signal);
      if (options.sizeBytes !== undefined && opened.totalBytes !== options.sizeBytes) {
        opened.body.destroy();
        throw new ObjectStoreError(
          "Refused",
          `The object ${location.key} has ${opened.totalBytes} bytes, not ${options.sizeBytes}.`,
        );
      }
      if (etag === undefined) options.onOpen?.(opened.etag);
      etag = opened.etag;
      for await (const chunk of opened.body as AsyncIterable<Buffer>) {
        offset += chunk.length;
        failures = 0;
        yield chunk;
        releaseBytes(chunk);
      }
      if (offset >= opened.totalBytes) return;
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof ObjectStoreError && !isObjectStoreUnreachable(error)) throw error;
      // The error's own message says what has to be fixed.
      if (failures >= maxFailures)
        throw error instanceof ObjectStoreError ? error : unreachable(location, error);
    }
    failures += 1;
    if (failures > maxFailures) throw unreachable(location, undefined);
    options.onResume?.(offset);
    await clock.sleep(backOffMs(backOff, failures, random), signal);
  }
}

function unreachable({ key }: ObjectLocation, cause: unknown): ObjectStoreError {
  return new ObjectStoreError(
    "Unreachable",
    `Reading ${key} from the object store was interrupted too often without progress.`,
    cause,
  );
}

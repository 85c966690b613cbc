import { createHash } from "node:crypto";
import { Transform, type Readable } from "node:stream";
import { withTimeout } from "#runtime/scheduling/deadline.ts";
import { unavailable } from "../errors.ts";
import { isObjectMissing, type ObjectStore } from "../stores/objectStore.ts";
import { readDigest } from "./saveObjectStore.ts";
import type { SavedObject } from "./saveVersionQueries.ts";

/** State of a save that was read completely. */
export type SaveState = "whole" | "missing" | "damaged";

/** Timeout of reading a whole save, as a multiple of the timeout of other requests. */
const timeouts = 30;

/**
 * Opens a save; undefined when it is not in the object store.
 *
 * @throws unavailable when the object store fails
 */
export async function openSave(
  { client, bucket, timeoutMs }: ObjectStore,
  { objectKey }: SavedObject,
): Promise<Readable | undefined> {
  const opening = client.getObject(bucket, objectKey);
  // A save that opens after the deadline must be closed.
  const late = new AbortController();
  opening.then(
    (stream) => {
      if (late.signal.aborted) stream.destroy();
    },
    () => undefined,
  );
  try {
    return await withTimeout(opening, timeoutMs, "Opening a save");
  } catch (cause) {
    late.abort();
    if (isObjectMissing(cause)) return undefined;
    throw unavailable("The save store is temporarily unavailable. Try again in a moment.", cause);
  }
}

/**
 * Reads a complete save and returns its state. `pace` is awaited with the size of each chunk.
 *
 * @throws unavailable when the object store fails
 */
export async function checkSave(
  objectStore: ObjectStore,
  save: SavedObject,
  pace?: (bytes: number) => Promise<void>,
): Promise<SaveState> {
  const stream = await openSave(objectStore, save);
  if (stream === undefined) return "missing";
  try {
    const reading = isWhole(stream, save, pace);
    return (await (pace === undefined
      ? withTimeout(reading, timeouts * objectStore.timeoutMs, "Reading a save")
      : reading))
      ? "whole"
      : "damaged";
  } catch (cause) {
    throw unavailable("The save store is temporarily unavailable. Try again in a moment.", cause);
  } finally {
    stream.destroy();
  }
}

/**
 * Returns a stream that passes a save through and sends the last piece only if the digest of the whole
 * matches, so that a reader never takes a damaged save for a complete one.
 */
export function createDigestGate({ sha256, bytes }: SavedObject): Transform {
  const hash = createHash("sha256");
  let held: Buffer | undefined;
  let seen = 0;
  return new Transform({
    transform(piece: Buffer, _encoding, done) {
      hash.update(piece);
      seen += piece.length;
      const passed = held;
      held = piece;
      done(null, passed);
    },
    flush(done) {
      const isSame = seen === bytes && hash.digest("hex") === sha256;
      if (isSame) done(null, held);
      else done(new Error("A save changed while it was read."));
    },
  });
}

async function isWhole(
  stream: Readable,
  { sha256, bytes }: SavedObject,
  pace?: (bytes: number) => Promise<void>,
): Promise<boolean> {
  const read = await readDigest(stream, bytes, pace && ((piece) => pace(piece.length)));
  return read?.bytes === bytes && read.sha256 === sha256;
}

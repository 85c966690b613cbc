import { createHash } from "node:crypto";
import { Transform, type Readable } from "node:stream";
import { withTimeout } from "#runtime/scheduling/deadline.ts";
import { unavailable } from "../errors.ts";
import type { ObjectStore } from "../stores/objectStore.ts";
import { readDigest } from "./saveObjectStore.ts";
import type { SavedObject } from "./saveVersionQueries.ts";

/** How a save was found when all of it was read. */
export type SaveState = "whole" | "missing" | "damaged";

/** How long reading a whole save may take, in timeouts of requests that move no data. */
const timeouts = 30;

/**
 * Opens a save. Returns undefined when the object store does not have it, throws unavailable when that cannot
 * be told.
 */
export async function openSave(
  { client, bucket, timeoutMs }: ObjectStore,
  { objectKey }: SavedObject,
): Promise<Readable | undefined> {
  const opening = client.getObject(bucket, objectKey);
  // One that opens after the deadline must not stay open.
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
    if (isMissing(cause)) return undefined;
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
 * Passes a save on while it is read. The last piece follows only when the whole has its digest, so that a
 * reader never takes a damaged save for a whole one.
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

/**
 * Only S3's own error code counts. For a 404 without one, for example from a proxy, the client reports
 * NotFound.
 */
function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "NoSuchKey";
}

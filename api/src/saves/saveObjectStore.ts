import { CopyDestinationOptions, CopySourceOptions } from "minio";
import { withTimeout } from "#runtime/scheduling/deadline.ts";
import {
  savesPrefix,
  isEarlier,
  parseSaveKey,
  savePictureKey,
  type SaveName,
} from "#contracts/objectKeys.ts";
import { ArchiveUpload } from "../archives/archiveUpload.ts";
import { unavailable } from "../errors.ts";
import { type ObjectStore, callObjectStore } from "../stores/objectStore.ts";
import type { Readable } from "node:stream";
import { saveArchiveRules } from "#archive/archiveRules.ts";
import { ArchiveInspection } from "../archives/archiveInspection.ts";
import { createHash } from "node:crypto";

/** Time to read the largest save at 2 MB a second. */
const readTimeoutMs = 600_000;

/** Timeout of copying a whole save, as a multiple of the timeout of other requests. */
const copyTimeouts = 12;

/** The saves of all slots in the object store. Its methods throw unavailable when the object store fails. */
export class SaveObjectStore {
  readonly #objectStore: ObjectStore;

  constructor(objectStore: ObjectStore) {
    this.#objectStore = objectStore;
  }

  /** Returns all saves and pictures of a slot. */
  async list(slotId: string): Promise<StoredSaveObject[]> {
    const { client, bucket, timeoutMs } = this.#objectStore;
    const listing = client.listObjectsV2(bucket, savesPrefix(slotId), true);
    const items = await callObjectStore(
      listing.toArray() as Promise<{ name: string; lastModified: Date }[]>,
      timeoutMs,
      "Listing saves",
    ).finally(() => listing.destroy());
    return items.map(({ name, lastModified }) => ({ key: name, storedAt: lastModified }));
  }

  /** Reads a save and returns its digest and sizes. Throws also when it is larger than `bytesMax`. */
  async inspect(key: string, bytesMax: number): Promise<InspectedSave> {
    const { client, bucket, timeoutMs } = this.#objectStore;
    const body = await callObjectStore(client.getObject(bucket, key), timeoutMs, "Opening a save");
    try {
      const read = await withTimeout(inspectSave(body, bytesMax), readTimeoutMs, "Reading a save");
      if (read === undefined) throw new Error(`The save ${key} is larger than ${bytesMax} bytes.`);
      return read;
    } finally {
      body.destroy();
    }
  }

  /**
   * Removes the saves with these keys, and their pictures; missing ones are ignored. Throws unavailable also
   * when the object store fails to remove some, or takes longer than `ms`.
   */
  async remove(keys: readonly string[], ms = Infinity): Promise<void> {
    if (keys.length === 0) return;
    const { client, bucket, timeoutMs } = this.#objectStore;
    const results = await callObjectStore(
      client.removeObjects(bucket, withPictures(keys)),
      Math.min(timeoutMs, ms),
      "Removing saves",
    );
    const refused = results.flatMap((result) => result?.Error ?? []);
    if (refused.length === 0) return;
    const cause = new Error(
      `The object store did not remove ${refused.length} saves: ${refused[0]?.Code ?? "no reason given"}.`,
    );
    throw unavailable("The archive store could not remove the files. Try again in a moment.", cause);
  }

  /** Copies a save within the object store. */
  async copy(fromKey: string, toKey: string): Promise<void> {
    const { client, bucket, timeoutMs } = this.#objectStore;
    const source = new CopySourceOptions({ Bucket: bucket, Object: fromKey });
    await callObjectStore(
      client.copyObject(source, new CopyDestinationOptions({ Bucket: bucket, Object: toKey })),
      copyTimeouts * timeoutMs,
      "Copying a save",
    );
  }

  /** Opens an upload; nothing is visible under the key until it is completed. */
  async openUpload(key: string): Promise<ArchiveUpload> {
    return ArchiveUpload.open(this.#objectStore, key);
  }
}

function withPictures(keys: readonly string[]): string[] {
  return [
    ...new Set(keys.flatMap((key) => (parseSaveKey(key) === undefined ? [key] : [key, savePictureKey(key)]))),
  ];
}

/** A save that was read completely. */
interface InspectedSave extends SaveDigest {
  /** Null if the archive violates the rules of the packer. */
  unpackedBytes: number | null;
}

/**
 * Reads a complete save and returns its digest and sizes; undefined as soon as it exceeds `bytesMax`. The
 * content is not trusted: the archive rules for saves bound what is unpacked, and an archive that violates
 * them has no unpacked size.
 */
async function inspectSave(save: Readable, bytesMax: number): Promise<InspectedSave | undefined> {
  let [unpackedBytes, isRefused] = [0, false];
  const inspection = new ArchiveInspection(saveArchiveRules, {
    onEntry: (entry) => void (unpackedBytes += fileMemory(entry)),
  });
  // A failed inspection does not change the save's digest.
  const inspect = async (step: () => Promise<unknown>): Promise<void> => {
    if (!isRefused) await step().catch(() => void (isRefused = true));
  };
  try {
    const digest = await readDigest(save, bytesMax, (piece) => inspect(() => inspection.write(piece)));
    if (digest === undefined) return undefined;
    await inspect(() => inspection.finish());
    return { ...digest, unpackedBytes: isRefused ? null : unpackedBytes };
  } finally {
    inspection.close();
  }
}

/** Digest and size of a save that was read completely. */
interface SaveDigest {
  /** In hex. */
  sha256: string;
  bytes: number;
}

/**
 * Reads a complete save and returns its digest and size; undefined as soon as it exceeds `bytesMax`.
 * `onPiece` is awaited for each chunk.
 */
export async function readDigest(
  save: Readable,
  bytesMax: number,
  onPiece?: (piece: Buffer) => Promise<void>,
): Promise<SaveDigest | undefined> {
  const hash = createHash("sha256");
  let bytes = 0;
  for await (const piece of save as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > bytesMax) return undefined;
    hash.update(piece);
    await onPiece?.(piece);
  }
  return { sha256: hash.digest("hex"), bytes };
}

const pageBytes = 4096;

/** Returns the memory that a save's file takes on its node, in whole pages, as the packer counts it. */
export function fileMemory({ size }: { size: number }): number {
  return Math.ceil(size / pageBytes) * pageBytes;
}

/** A save in the object store. */
export interface StoredSaveObject {
  key: string;
  storedAt: Date;
}

/** A save that was stored by a node agent. */
export type NamedSaveObject = StoredSaveObject & SaveName;

/** Returns the objects whose keys node agents use, with the parts of their keys. */
export function namedSaves(objects: readonly StoredSaveObject[]): NamedSaveObject[] {
  return objects.flatMap((object) => {
    const name = parseSaveKey(object.key);
    return name === undefined ? [] : [{ ...object, ...name }];
  });
}

/** Returns the session's last save among the given ones; undefined without one. */
export function newestSaveOf(
  objects: readonly StoredSaveObject[],
  gameSession: string,
): NamedSaveObject | undefined {
  return namedSaves(objects)
    .filter((save) => save.gameSession === gameSession)
    .reduce<NamedSaveObject | undefined>(
      (newest, save) => (newest === undefined || isEarlier(newest, save) ? save : newest),
      undefined,
    );
}

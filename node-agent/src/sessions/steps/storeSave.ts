import type { StoredSave } from "#contracts/crd/gameSession.ts";
import { packedArchiveName } from "#contracts/nodeLayout.ts";
import { saveKey } from "#contracts/objectKeys.ts";
import type { PackedSave } from "#contracts/spool.ts";
import { toApiTime } from "#kube/api/object.ts";
import { withDeadline } from "#runtime/scheduling/deadline.ts";
import { SpoolUnreadable } from "../../spool/readSpool.ts";
import { verifyPacked } from "../../spool/verifyPacked.ts";
import type { SessionRecord } from "../record.ts";
import { readSpoolOf, type RecordContext } from "./step.ts";
import { storePicture } from "./storePicture.ts";

/** Minimum upload rate, in bytes per second. Slower uploads time out. */
const slowestUpload = 64 * 1024;
const startOfUploadMs = 60_000;

/** Returns whether the object store already has these bytes or the session started from them. */
export function isStored({ stored, baseSave }: SessionRecord, { sha256, files }: PackedSave): boolean {
  if (stored !== undefined) return stored.sha256 === sha256;
  return baseSave === undefined ? files === 0 : baseSave.sha256 === sha256;
}

/**
 * Stores a pack. Returns the record with it, or undefined if a newer pack has replaced it. The key names the
 * pack, so storing it twice, even by two agents, is idempotent. `answered` is the player's request that it
 * answers. Changes nothing on failure.
 *
 * @throws SpoolUnreadable, ObjectStoreError or DeadlineExceeded
 */
export async function storePack(
  context: RecordContext,
  save: PackedSave,
  isFinal: boolean,
  answered?: string,
): Promise<SessionRecord | undefined> {
  const { deps, record, signal } = context;
  const { files, readFailures, objectStore, bucket, clock } = deps;
  const path = `${files.packedFolder(record.gameSession)}/${packedArchiveName(save)}`;
  const pack = await readFailures.during(record.gameSession, "pack", () => verifyPacked(path, save, signal));
  if (pack === undefined) {
    if (await isStillNamed(context, save))
      throw new SpoolUnreadable(
        `${path} is gone`,
        undefined,
        "The packer's folder lacks a file that its manifest lists",
      );
    return undefined;
  }
  const generation = record.baseGeneration + 1;
  const sequence = record.sequence + save.sequence;
  const objectKey = saveKey(record.slotId, {
    generation,
    gameSession: record.gameSession,
    sequence,
    attempt: save.attempt,
  });
  // Before the save is reported, because its picture is looked for then.
  const picture = storePicture(context, save, objectKey);
  try {
    await withDeadline(
      { clock, ms: uploadDeadlineMs(save.bytes), what: `Storing ${objectKey}`, signal },
      (uploading) => objectStore.put({ bucket, key: objectKey }, pack, uploading),
    );
    await picture;
  } finally {
    await Promise.allSettled([pack.close(), picture]);
  }
  const stored: StoredSave = {
    objectKey,
    sha256: save.sha256,
    bytes: save.bytes,
    unpackedBytes: save.unpackedBytes,
    generation,
    sequence,
    persistedAt: toApiTime(clock.now()),
    final: isFinal,
    ...requestOf(record, answered),
  };
  const next = { ...record, stored };
  await files.writeStored(next);
  return next;
}

/**
 * Returns whether the manifest still names a pack. The packer names a newer pack before it removes one, so a
 * pack that is gone but still named is lost.
 */
async function isStillNamed(
  { deps, record }: RecordContext,
  { sequence, attempt }: PackedSave,
): Promise<boolean> {
  const { manifest } = await readSpoolOf(deps, record);
  return manifest?.save?.sequence === sequence && manifest.save.attempt === attempt;
}

/** Returns the maximum duration of the upload. A silent object store times out much earlier. */
function uploadDeadlineMs(bytes: number): number {
  return startOfUploadMs + (bytes / slowestUpload) * 1000;
}

/**
 * Returns the request that this save answers, or else the last one answered by an earlier save, which later
 * saves repeat.
 */
function requestOf({ stored }: SessionRecord, answered: string | undefined): Pick<StoredSave, "requestedAt"> {
  const requestedAt = answered ?? stored?.requestedAt;
  return requestedAt === undefined ? {} : { requestedAt };
}

import { chmod, chown, mkdir, rename, rm } from "node:fs/promises";
import { saveArchiveRules } from "#contracts/archive/archiveRules.ts";
import { limits } from "#contracts/limits.ts";
import { sessionUserId } from "#contracts/nodeLayout.ts";
import type { Clock } from "#kube/clock.ts";
import { syncDirectory, type TreeStyle } from "../archive/treeWriter.ts";
import { unpackArchive } from "../archive/unpack.ts";
import { ObjectStoreError } from "../store/errors.ts";
import type { ObjectLocation, ObjectStore } from "../store/objectStore.ts";
import { readObject } from "../store/readObject.ts";

export interface RestoreOptions {
  /** Absent for a new playthrough. */
  save: { location: ObjectLocation; sha256: string } | undefined;
  saveDirectory: string;
  store: ObjectStore;
  clock: Clock;
  random: () => number;
  signal: AbortSignal;
}

/** The session's user owns its saves; files keep their times, as games list saves by them. */
const savesOfSession: TreeStyle = {
  fileMode: 0o600, executableMode: 0o700, directoryMode: 0o700, userId: sessionUserId, keepsTimes: true, isDurable: false,
};

/**
 * Makes the save directory, with the slot's save in it. It appears by one rename: when it is there, it is complete.
 * Throws ChecksumMismatch, ArchiveRefused or ObjectStoreError.
 */
export async function restoreSave({ save, saveDirectory, store, clock, random, signal }: RestoreOptions): Promise<void> {
  const draft = `${saveDirectory}.restoring`;
  await rm(draft, { recursive: true, force: true });
  await mkdir(draft, { mode: 0o700 });
  if (save === undefined) {
    await chown(draft, sessionUserId, sessionUserId);
    await chmod(draft, savesOfSession.directoryMode);
  } else {
    const { location, sha256 } = save;
    const source = bounded(readObject({ store, location, clock, random, signal }), location);
    await unpackArchive({ source, sha256, directory: draft, rules: saveArchiveRules, style: savesOfSession });
  }
  await rename(draft, saveDirectory);
  await syncDirectory(saveDirectory.slice(0, saveDirectory.lastIndexOf("/")));
}

/** No stored save is larger than what the agent would store. */
async function* bounded(source: AsyncIterable<Buffer>, { key }: ObjectLocation): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const chunk of source) {
    bytes += chunk.length;
    if (bytes > limits.save.packedBytes) throw new ObjectStoreError("Refused", `The stored save ${key} is larger than ${limits.save.packedBytes} bytes.`);
    yield chunk;
  }
}

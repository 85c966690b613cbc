import { createHash } from "node:crypto";
import { chmod, chown, lstat, mkdir, open, readFile, rename, rm, stat } from "node:fs/promises";
import { limits } from "#contracts/limits.ts";
import { sessionUserId, spoolNames } from "#contracts/nodeLayout.ts";
import { RestoreOrder, type SaveRequest } from "#contracts/spool.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";
import {
  ChecksumMismatch,
  type ObjectLocation,
  type ObjectStore,
  ObjectStoreError,
} from "../objectStore/objectStore.ts";
import { readObject } from "../objectStore/readObject.ts";

/** Options of orderRestore. */
interface OrderOptions {
  sessionFolder: string;
  uid: string;
  /** Absent for a new playthrough. */
  save: { location: ObjectLocation; sha256: string } | undefined;
  objectStore: ObjectStore;
  clock: Clock;
  random: () => number;
  signal: AbortSignal;
}

/**
 * Creates the packer's folder, the only one that the session's user may write to. One rename makes the folder
 * and its owner visible together, because the packer may look at any time and the agent may be killed in
 * between. An existing folder of another owner is given to that user.
 */
export async function makePackedFolder(sessionFolder: string): Promise<void> {
  const packed = `${sessionFolder}/${spoolNames.packed}`;
  const found = await lstat(packed).catch(() => undefined);
  if (found?.isDirectory() === true && found.uid !== sessionUserId)
    await chown(packed, sessionUserId, sessionUserId);
  if (found !== undefined) return;
  const draft = `${packed}.new`;
  await mkdir(draft, { recursive: true, mode: 0o700 });
  await chown(draft, sessionUserId, sessionUserId);
  await rename(draft, packed);
}

/**
 * Fetches the slot's save, verifies it, and orders its restore. The order appears with one rename, after the
 * archive that it names.
 *
 * @throws ChecksumMismatch or ObjectStoreError
 */
export async function orderRestore(options: OrderOptions): Promise<void> {
  const { sessionFolder, uid, save } = options;
  const bytes = save && (await fetchArchive(options, save));
  const order: RestoreOrder = {
    version: 1,
    uid,
    ...(save && bytes !== undefined && { save: { sha256: save.sha256, bytes } }),
  };
  const draft = `${sessionFolder}/${spoolNames.order}.new`;
  await writeReadable(draft, async (write) => write(Buffer.from(`${JSON.stringify(order)}\n`)));
  await rename(draft, `${sessionFolder}/${spoolNames.order}`);
}

/**
 * Returns whether the packer has its complete order. The order is not synced to disk before it counts, so a
 * power loss may leave the names of order and archive without all their bytes. Then it must be ordered
 * again.
 */
export async function isRestoreOrdered(sessionFolder: string): Promise<boolean> {
  try {
    const { save } = RestoreOrder.parse(
      JSON.parse(await readFile(`${sessionFolder}/${spoolNames.order}`, "utf8")),
    );
    return (
      save === undefined || (await stat(`${sessionFolder}/${spoolNames.orderedArchive}`)).size === save.bytes
    );
  } catch {
    return false;
  }
}

/**
 * Requests a save of the state after `requestedAt` from the packer. A second request for the same moment is a
 * no-op.
 */
export async function requestSave(sessionFolder: string, uid: string, requestedAt: string): Promise<void> {
  const path = `${sessionFolder}/${spoolNames.request}`;
  const request: SaveRequest = { version: 1, uid, requestedAt };
  const text = `${JSON.stringify(request)}\n`;
  if ((await readFile(path, "utf8").catch(() => undefined)) === text) return;
  await writeReadable(`${path}.new`, async (write) => write(Buffer.from(text)));
  await rename(`${path}.new`, path);
}

async function fetchArchive(
  { sessionFolder, objectStore, clock, random, signal }: OrderOptions,
  { location, sha256 }: NonNullable<OrderOptions["save"]>,
): Promise<number> {
  const path = `${sessionFolder}/${spoolNames.orderedArchive}`;
  const hash = createHash("sha256");
  let bytes = 0;
  await writeReadable(path, async (write) => {
    for await (const chunk of readObject({ objectStore, location, clock, random, signal })) {
      bytes += chunk.length;
      if (bytes > limits.save.packedBytes)
        throw new ObjectStoreError(
          "Refused",
          `The stored save ${location.key} is larger than ${limits.save.packedBytes} bytes.`,
        );
      hash.update(chunk);
      await write(chunk);
    }
  });
  const actual = hash.digest("hex");
  if (actual === sha256) return bytes;
  await rm(path);
  throw new ChecksumMismatch(sha256, actual);
}

/**
 * Writes a file that everybody may read, or leaves none. It is not synced to disk, because a power loss ends
 * the pod that it is for.
 */
async function writeReadable(
  path: string,
  fill: (write: (bytes: Buffer) => Promise<void>) => Promise<void>,
): Promise<void> {
  const file = await open(path, "w", 0o444);
  try {
    await fill(async (bytes) => file.writeFile(bytes));
  } catch (error) {
    await rm(path, { force: true }); // A partial save would take space that a full disk lacks.
    throw error;
  } finally {
    await file.close();
  }
  await chmod(path, 0o444);
}

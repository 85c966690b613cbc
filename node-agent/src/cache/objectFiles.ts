import { chmod, lstat, mkdir, open, readdir, readFile, rename, stat, utimes } from "node:fs/promises";
import { z } from "zod";
import { sha256Hex } from "#contracts/crd/schema.ts";
import { systemErrorCode } from "#runtime/errors.ts";
import { isAbsent, syncDirectory } from "../disk/files.ts";
import type { NodePaths } from "../disk/nodePaths.ts";
import type { TreeRemover } from "../disk/treeRemover.ts";

/** A version that is whole and on disk. */
interface StoredObject {
  manifest: Manifest;
  lastUsedAt: Date;
}

/** What may be a whole version, and is not shown by the disk. */
interface UnreadObject {
  digest: string;
  error: unknown;
}

/** A folder that could not be moved away. It stays where it is. */
interface StuckFolder {
  path: string;
  error: unknown;
}

/** What was found at the start. */
export interface FoundObjects {
  whole: StoredObject[];
  unread: UnreadObject[];
  stuck: StuckFolder[];
}

/** The unpacked archives on disk. A directory under `objects` is complete: it gets there by one rename. */
export interface ObjectFiles {
  /**
   * Makes the folders, empties the temporary one, drops what is not whole, and returns what is. What the disk
   * does not show stays, as games may have it mounted.
   */
  load(): Promise<FoundObjects>;
  /** Returns the version if it is whole. Throws when the disk does not show it. */
  find(digest: string): Promise<StoredObject | undefined>;
  /** Makes and returns a fresh directory for one attempt; its `content` is to be filled. */
  begin(digest: string, attempt: number): Promise<Draft>;
  /** Throws ENOENT when the version, or its content, is not there. */
  markUsed(digest: string, at: Date): Promise<void>;
  /**
   * Resolves when its room on the disk is free, or the attempt has ended: returns false where the rest goes
   * in the background. Does nothing when the version is not there.
   */
  remove(digest: string): Promise<boolean>;
}

/** An archive being unpacked. */
export interface Draft {
  contentDirectory: string;
  /**
   * Makes the directory a version that is whole; one that is there already stays in its place. Throws, and
   * leaves no version, when it might not outlive a loss of power.
   */
  publish(manifest: Manifest): Promise<void>;
  /** Resolves when its room on the disk is free, or the rest of it goes in the background. */
  discard(): Promise<void>;
}

/**
 * Returns the unpacked archives below the agent's root; nothing is read before `load`. What goes, goes
 * through the remover: a version is seen whole or not at all, a game of any number of files is removed in
 * little memory, and a disk that does not let go of something keeps no agent from starting.
 */
export function createObjectFiles(paths: NodePaths, remover: TreeRemover): ObjectFiles {
  const manifestPath = (directory: string): string => `${directory}/manifest.json`;

  async function load(): Promise<FoundObjects> {
    await mkdir(paths.objects, { recursive: true, mode: 0o755 });
    await mkdir(paths.temporary, { recursive: true, mode: 0o700 });
    // What a former process left half done is worth nothing, because it was never published. The folder
    // itself stays, as a full disk has no room for a new one.
    const whole: StoredObject[] = [];
    const unread: UnreadObject[] = [];
    const stuck: StuckFolder[] = [];
    const drop = (path: string): Promise<unknown> =>
      remover.remove(path).catch((error: unknown) => stuck.push({ path, error }));
    for (const name of await readdir(paths.temporary)) await drop(`${paths.temporary}/${name}`);
    for (const name of await readdir(paths.objects)) {
      const found = await find(name).catch((error: unknown): UnreadObject => ({ digest: name, error }));
      if (found === undefined) await drop(`${paths.objects}/${name}`);
      else if ("error" in found) unread.push(found);
      else whole.push(found);
    }
    return { whole, unread, stuck };
  }

  async function find(name: string): Promise<StoredObject | undefined> {
    if (!sha256Hex.safeParse(name).success) return undefined;
    const directory = paths.object(name);
    const manifest = await readManifest(manifestPath(directory));
    if (manifest?.digest !== name || !(await isDirectory(`${directory}/content`))) return undefined;
    return { manifest, lastUsedAt: (await stat(manifestPath(directory))).mtime };
  }

  async function begin(digest: string, attempt: number): Promise<Draft> {
    const directory = `${paths.temporary}/${digest}.${attempt}`;
    const contentDirectory = `${directory}/content`;
    await remover.remove(directory);
    await mkdir(contentDirectory, { recursive: true, mode: 0o700 });
    return {
      contentDirectory,
      async discard() {
        await remover.removeNow(directory);
      },
      async publish(manifest) {
        await writeManifest(manifestPath(directory), manifest);
        await chmod(directory, 0o755);
        await syncDirectory(directory);
        if (!(await moveIntoPlace(directory, digest))) return;
        try {
          await syncDirectory(paths.objects);
        } catch (error) {
          // It would stand in the way of the next attempt.
          await remover.remove(paths.object(digest));
          throw error;
        }
      },
    };
  }

  /**
   * Returns false, and removes the directory, where the version is there already: whole, or not shown by the
   * disk.
   */
  async function moveIntoPlace(directory: string, digest: string): Promise<boolean> {
    try {
      await rename(directory, paths.object(digest));
    } catch (error) {
      if (!["ENOTEMPTY", "EEXIST"].includes(systemErrorCode(error) ?? "")) throw error;
      // What cannot be read came there whole all the same, and a game that runs may have it mounted.
      if (
        await find(digest).then(
          (found) => found !== undefined,
          () => true,
        )
      ) {
        await remover.remove(directory);
        return false;
      }
      await remover.remove(paths.object(digest));
      await rename(directory, paths.object(digest));
    }
    return true;
  }

  return {
    load,
    find,
    begin,
    async markUsed(digest, at) {
      await lstat(`${paths.object(digest)}/content`);
      await utimes(manifestPath(paths.object(digest)), at, at);
    },
    remove: (digest) => remover.removeNow(paths.object(digest)),
  };
}

async function isDirectory(path: string): Promise<boolean> {
  try {
    return (await lstat(path)).isDirectory();
  } catch (error) {
    if (isAbsent(error)) return false;
    throw error;
  }
}

/**
 * What the agent keeps beside an unpacked archive; its presence in a published directory means that all of it
 * is there.
 */
export const Manifest = z.object({
  version: z.literal(1),
  digest: sha256Hex,
  packedBytes: z.int().min(0),
  unpackedBytes: z.int().min(0),
  entries: z.int().min(0),
  cachedAt: z.iso.datetime(),
});
export type Manifest = z.infer<typeof Manifest>;

/** Writes the manifest through to the disk. */
export async function writeManifest(path: string, manifest: Manifest): Promise<void> {
  const handle = await open(path, "wx", 0o644);
  try {
    await handle.writeFile(`${JSON.stringify(manifest)}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/**
 * Returns the manifest; undefined when it is missing or not one: the directory beside it is then not to be
 * trusted. Throws when the disk does not tell.
 */
async function readManifest(path: string): Promise<Manifest | undefined> {
  try {
    return Manifest.safeParse(JSON.parse(await readFile(path, "utf8"))).data;
  } catch (error) {
    // One that was cut off is no JSON.
    if (error instanceof SyntaxError || isAbsent(error)) return undefined;
    throw error;
  }
}

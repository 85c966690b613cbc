import { chmod, lstat, mkdir, open, readdir, readFile, rename, stat, utimes } from "node:fs/promises";
import { z } from "zod";
import { sha256Hex } from "#contracts/crd/schema.ts";
import { systemErrorCode } from "#runtime/errors.ts";
import { isAbsent, syncDirectory } from "../disk/files.ts";
import type { NodePaths } from "../disk/nodePaths.ts";
import type { TreeRemover } from "../disk/treeRemover.ts";

/** A complete version on disk. */
interface StoredObject {
  manifest: Manifest;
  lastUsedAt: Date;
}

/** A version that may be complete but that the disk fails to read. */
interface UnreadObject {
  digest: string;
  error: unknown;
}

/** A folder that could not be moved away and stays in place. */
interface StuckFolder {
  path: string;
  error: unknown;
}

/** The result of the scan at startup. */
export interface FoundObjects {
  whole: StoredObject[];
  unread: UnreadObject[];
  stuck: StuckFolder[];
}

/**
 * The unpacked archives on disk. A directory below `objects` is complete, because one rename puts it there.
 */
export interface ObjectFiles {
  /**
   * Creates the folders, empties the temporary one, removes incomplete versions, and returns the complete
   * ones. Versions that the disk fails to read stay, because games may have them mounted.
   */
  load(): Promise<FoundObjects>;
  /** Returns the version if it is complete. Throws if the disk fails to read it. */
  find(digest: string): Promise<StoredObject | undefined>;
  /** Creates and returns a new directory for one attempt. The caller fills its `content`. */
  begin(digest: string, attempt: number): Promise<Draft>;
  /** Throws ENOENT if the version, or its content, does not exist. */
  markUsed(digest: string, at: Date): Promise<void>;
  /**
   * Resolves when the version's space is free, or the removal has stopped early: then returns false, and the
   * rest is removed in the background. Does nothing if the version does not exist.
   */
  remove(digest: string): Promise<boolean>;
}

/** An archive that is being unpacked. */
export interface Draft {
  contentDirectory: string;
  /**
   * Turns the directory into a complete version. An existing one stays in place. Throws, and leaves no
   * version, if it might not survive a power loss.
   */
  publish(manifest: Manifest): Promise<void>;
  /** Resolves when its space is free, or the rest is being removed in the background. */
  discard(): Promise<void>;
}

/**
 * Returns the unpacked archives below the agent's root. Reads nothing before `load`. Removals go through the
 * remover, so a version is visible completely or not at all, games with many files are removed in little
 * memory, and a folder that cannot be removed does not prevent the agent from starting.
 */
export function createObjectFiles(paths: NodePaths, remover: TreeRemover): ObjectFiles {
  const manifestPath = (directory: string): string => `${directory}/manifest.json`;

  async function load(): Promise<FoundObjects> {
    await mkdir(paths.objects, { recursive: true, mode: 0o755 });
    await mkdir(paths.temporary, { recursive: true, mode: 0o700 });
    // Leftovers of a previous process are worthless, because they were never published. The folder itself is
    // kept, because a full disk has no room for a new one.
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
          // It would block the next attempt.
          await remover.remove(paths.object(digest));
          throw error;
        }
      },
    };
  }

  /**
   * Moves the directory into place. Returns false and removes it if the version already exists, complete or
   * unreadable.
   */
  async function moveIntoPlace(directory: string, digest: string): Promise<boolean> {
    try {
      await rename(directory, paths.object(digest));
    } catch (error) {
      if (!["ENOTEMPTY", "EEXIST"].includes(systemErrorCode(error) ?? "")) throw error;
      // An unreadable version was complete when it was published, and a running game may have it mounted.
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
 * The manifest that the agent stores next to an unpacked archive. Its presence in a published directory means
 * that the directory is complete.
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

/** Writes the manifest and syncs it to disk. */
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
 * Returns the manifest. Undefined if it is missing or invalid; the directory next to it must not be trusted
 * then. Throws if the disk fails to read it.
 */
async function readManifest(path: string): Promise<Manifest | undefined> {
  try {
    return Manifest.safeParse(JSON.parse(await readFile(path, "utf8"))).data;
  } catch (error) {
    // A truncated manifest is not valid JSON.
    if (error instanceof SyntaxError || isAbsent(error)) return undefined;
    throw error;
  }
}

import { chmod, lstat, mkdir, readdir, rename, rm, stat, utimes } from "node:fs/promises";
import { sha256Hex } from "#contracts/crd/schema.ts";
import { systemErrorCode } from "#runtime/systemError.ts";
import { isAbsent } from "../disk/absent.ts";
import { syncDirectory } from "../disk/syncDirectory.ts";
import type { NodePaths } from "../disk/nodePaths.ts";
import { readManifest, writeManifest, type Manifest } from "./manifest.ts";

/** A version that is whole and on disk. */
export interface StoredObject {
  manifest: Manifest;
  lastUsedAt: Date;
}

/** What may be a whole version, and is not shown by the disk. */
export interface UnreadObject {
  digest: string;
  error: unknown;
}

/** The unpacked archives on disk. A directory under `objects` is complete: it gets there by one rename. */
export interface ObjectFiles {
  /** Makes the folders, empties the temporary one, drops what is not whole, and returns what is. What the disk does not show stays, as games may have it mounted. */
  load(): Promise<{ whole: StoredObject[]; unread: UnreadObject[] }>;
  /** Returns the version if it is whole. Throws when the disk does not show it. */
  find(digest: string): Promise<StoredObject | undefined>;
  /** Makes and returns a fresh directory for one attempt; its `content` is to be filled. */
  begin(digest: string, attempt: number): Promise<Draft>;
  /** Throws ENOENT when the version, or its content, is not there. */
  markUsed(digest: string, at: Date): Promise<void>;
  /** Does nothing when the version is not there. */
  remove(digest: string): Promise<void>;
}

/** An archive being unpacked. */
export interface Draft {
  contentDirectory: string;
  /**
   * Makes the directory a version that is whole; one that is there already stays in its place. Throws, and leaves no version, when it might not
   * outlive a loss of power.
   */
  publish(manifest: Manifest): Promise<void>;
  discard(): Promise<void>;
}

/** Returns the unpacked archives below the agent's root; nothing is read before `load`. */
export function createObjectFiles(paths: NodePaths): ObjectFiles {
  const manifestPath = (directory: string): string => `${directory}/manifest.json`;

  async function load(): ReturnType<ObjectFiles["load"]> {
    await mkdir(paths.objects, { recursive: true, mode: 0o755 });
    await mkdir(paths.temporary, { recursive: true, mode: 0o700 });
    // What a former process left half done is worth nothing, because it was never published. The folder itself stays, as a full disk has no room for
    // a new one.
    for (const name of await readdir(paths.temporary)) await rm(`${paths.temporary}/${name}`, { recursive: true, force: true });
    const whole: StoredObject[] = [];
    const unread: UnreadObject[] = [];
    for (const name of await readdir(paths.objects)) {
      const found = await find(name).catch((error: unknown): UnreadObject => ({ digest: name, error }));
      if (found === undefined) await removeTree(`${paths.objects}/${name}`, name);
      else if ("error" in found) unread.push(found);
      else whole.push(found);
    }
    return { whole, unread };
  }

  async function find(name: string): Promise<StoredObject | undefined> {
    if (!sha256Hex.safeParse(name).success) return undefined;
    const directory = paths.object(name);
    const manifest = await readManifest(manifestPath(directory));
    if (manifest?.digest !== name || !await isDirectory(`${directory}/content`)) return undefined;
    return { manifest, lastUsedAt: (await stat(manifestPath(directory))).mtime };
  }

  async function begin(digest: string, attempt: number): Promise<Draft> {
    const directory = `${paths.temporary}/${digest}.${attempt}`;
    const contentDirectory = `${directory}/content`;
    await rm(directory, { recursive: true, force: true });
    await mkdir(contentDirectory, { recursive: true, mode: 0o700 });
    return {
      contentDirectory,
      discard: () => rm(directory, { recursive: true, force: true }),
      async publish(manifest) {
        await writeManifest(manifestPath(directory), manifest);
        await chmod(directory, 0o755);
        await syncDirectory(directory);
        if (!await moveIntoPlace(directory, digest)) return;
        try {
          await syncDirectory(paths.objects);
        } catch (error) {
          // It would stand in the way of the next attempt.
          await removeTree(paths.object(digest), digest);
          throw error;
        }
      },
    };
  }

  /** Returns false, and removes the directory, where the version is there already: whole, or not shown by the disk. */
  async function moveIntoPlace(directory: string, digest: string): Promise<boolean> {
    try {
      await rename(directory, paths.object(digest));
    } catch (error) {
      if (!["ENOTEMPTY", "EEXIST"].includes(systemErrorCode(error) ?? "")) throw error;
      // What cannot be read came there whole all the same, and a game that runs may have it mounted.
      if (await find(digest).then((found) => found !== undefined, () => true)) {
        await rm(directory, { recursive: true, force: true });
        return false;
      }
      await removeTree(paths.object(digest), digest);
      await rename(directory, paths.object(digest));
    }
    return true;
  }

  /** A version is renamed out of sight first, and then taken apart: a reader sees all of it or nothing. */
  async function removeTree(directory: string, name: string): Promise<void> {
    const doomed = `${paths.temporary}/${name}.removed`;
    await rm(doomed, { recursive: true, force: true });
    try {
      await rename(directory, doomed);
    } catch (error) {
      if (systemErrorCode(error) === "ENOENT") return;
      throw error;
    }
    await rm(doomed, { recursive: true, force: true });
  }

  return {
    load,
    find,
    begin,
    async markUsed(digest, at) {
      await lstat(`${paths.object(digest)}/content`);
      await utimes(manifestPath(paths.object(digest)), at, at);
    },
    remove: (digest) => removeTree(paths.object(digest), digest),
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

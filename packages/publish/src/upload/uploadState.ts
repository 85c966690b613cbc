import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import type { FolderListing } from "../pack/listFolder.ts";
import type { PackedArchive } from "../pack/packArchive.ts";

const Pending = z.object({
  /** Names the files that the archive was packed from. */
  fingerprint: z.string(),
  size: z.int().min(0),
  sha256: z.string(),
  unpackedBytes: z.int().min(0),
  /** The resumable upload on the server, and what was asked of it. */
  upload: z.object({ path: z.string(), wish: z.string() }).optional(),
});
type Pending = z.infer<typeof Pending>;

/** Archives of uploads that were never continued are removed after this time. */
const keptMs = 7 * 24 * 3600 * 1000;

/** Returns the folder for state that outlives a run, by the conventions of the system. */
export function stateFolder(
  platform: NodeJS.Platform,
  variables: Readonly<Record<string, string | undefined>>,
): string {
  const { XDG_STATE_HOME, LOCALAPPDATA } = variables;
  const home = homedir();
  if (XDG_STATE_HOME) return join(XDG_STATE_HOME, "joypod-publish");
  if (platform === "win32") return join(LOCALAPPDATA ?? join(home, "AppData", "Local"), "joypod-publish");
  if (platform === "darwin") return join(home, "Library", "Application Support", "joypod-publish");
  return join(home, ".local", "state", "joypod-publish");
}

/** Returns a digest of the names, sizes and times of the files, and of how they are packed. */
export function fingerprintOf({ entries }: FolderListing, options: readonly (string | boolean)[]): string {
  const hash = createHash("sha256").update(JSON.stringify(options));
  for (const { path, size, mtimeMs, isMarkedExecutable } of entries)
    hash.update(JSON.stringify([path, size, mtimeMs, isMarkedExecutable]));
  return hash.digest("hex");
}

/**
 * The unfinished upload of one game, in the user's state folder. It keeps the packed archive until the server
 * has it, so a later run continues where an interrupted one stopped.
 */
export class UploadState {
  readonly archiveFile: string;
  readonly #folder: string;
  readonly #file: string;
  #pending: Pending | undefined;

  private constructor(folder: string, name: string) {
    this.#folder = folder;
    this.#file = join(folder, `${name}.json`);
    this.archiveFile = join(folder, `${name}.tar.gz`);
  }

  /** Opens the state of a game on a server, and removes what other uploads left long ago. */
  static async open(folder: string, server: URL, slug: string, now: Date): Promise<UploadState> {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await removeOld(folder, now);
    const digest = createHash("sha256").update(server.href).digest("hex").slice(0, 12);
    const state = new UploadState(folder, `${slug}-${digest}`);
    state.#pending = await state.#read();
    return state;
  }

  /** Returns the archive that an earlier run packed from exactly these files. */
  async findArchive(fingerprint: string): Promise<PackedArchive | undefined> {
    const pending = this.#pending;
    const found = await stat(this.archiveFile).catch(() => undefined);
    if (pending?.fingerprint !== fingerprint || found?.size !== pending.size) return undefined;
    const { size, sha256, unpackedBytes } = pending;
    return { file: this.archiveFile, size, sha256, unpackedBytes };
  }

  /** Returns the path of the server's unfinished upload of this archive with the same wishes. */
  uploadPath(wish: string): string | undefined {
    const upload = this.#pending?.upload;
    return upload?.wish === wish ? upload.path : undefined;
  }

  /**
   * Remembers a packed archive. The server's upload continues if the archive has the same bytes as before;
   * otherwise the path of that upload is returned, which is of no more use.
   */
  async keepArchive(
    { size, sha256, unpackedBytes }: PackedArchive,
    fingerprint: string,
  ): Promise<string | undefined> {
    const before = this.#pending;
    const isSame = before?.sha256 === sha256;
    const upload = isSame ? before.upload : undefined;
    await this.#write({ fingerprint, size, sha256, unpackedBytes, upload });
    return isSame ? undefined : before?.upload?.path;
  }

  /** Remembers the server's upload of the archive. */
  async keepUpload(upload: NonNullable<Pending["upload"]>): Promise<void> {
    if (this.#pending !== undefined) await this.#write({ ...this.#pending, upload });
  }

  /** Forgets the server's upload, so that the archive is uploaded from its start. */
  async forgetUpload(): Promise<void> {
    if (this.#pending !== undefined) await this.#write({ ...this.#pending, upload: undefined });
  }

  async remove(): Promise<void> {
    this.#pending = undefined;
    await rm(this.#file, { force: true });
    await rm(this.archiveFile, { force: true });
  }

  async #read(): Promise<Pending | undefined> {
    try {
      return Pending.safeParse(JSON.parse(await readFile(this.#file, "utf8"))).data;
    } catch {
      // Without a readable state, everything starts again.
      return undefined;
    }
  }

  async #write(pending: Pending): Promise<void> {
    this.#pending = pending;
    const partial = join(this.#folder, `.${process.pid}.part`);
    await writeFile(partial, JSON.stringify(pending), { mode: 0o600 });
    await rename(partial, this.#file);
  }
}

async function removeOld(folder: string, now: Date): Promise<void> {
  for (const name of await readdir(folder)) {
    const file = join(folder, name);
    const found = await stat(file).catch(() => undefined);
    if (found !== undefined && found.mtimeMs < now.getTime() - keptMs) await rm(file, { force: true });
  }
}

import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { systemErrorCode } from "#runtime/errors.ts";
import type { FolderListing } from "../pack/listFolder.ts";
import type { PackedArchive } from "../pack/packArchive.ts";
import { PublishError } from "../publishError.ts";

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
/** Errors of a state folder that cannot be made or written. */
const unusable: ReadonlySet<string | undefined> = new Set(["EACCES", "EROFS", "EPERM", "ENOENT", "ENOTDIR"]);

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
  for (const { path, size, mtimeMs, ctimeMs, isMarkedExecutable } of entries)
    hash.update(JSON.stringify([path, size, mtimeMs, ctimeMs, isMarkedExecutable]));
  return hash.digest("hex");
}

/**
 * The unfinished upload of one game, in the user's state folder. It keeps the packed archive until the server
 * has it, so a later run continues where an interrupted one stopped. One process at a time has it open.
 */
export class UploadState {
  readonly archiveFile: string;
  /** Whether the state is in a temporary folder, and lost at the end. */
  readonly isTemporary: boolean;
  readonly #folder: string;
  readonly #name: string;
  readonly #file: string;
  #pending: Pending | undefined;

  private constructor(folder: string, isTemporary: boolean, name: string) {
    this.#folder = folder;
    this.isTemporary = isTemporary;
    this.#name = name;
    this.#file = join(folder, `${name}.json`);
    this.archiveFile = join(folder, `${name}.tar.gz`);
  }

  /**
   * Opens the state of a game on a server, and removes what other uploads left long ago. Uses a temporary
   * folder if `folder` cannot be written.
   *
   * @throws PublishError if another process has it open
   */
  static async open(folder: string, server: URL, slug: string, now: Date): Promise<UploadState> {
    const digest = createHash("sha256").update(server.href).digest("hex").slice(0, 12);
    const name = `${slug}-${digest}`;
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      await removeOld(folder, now);
      await lock(lockFile(folder, name));
    } catch (error) {
      if (!unusable.has(systemErrorCode(error))) throw error;
      return new UploadState(await mkdtemp(join(tmpdir(), "joypod-publish-")), true, name);
    }
    const state = new UploadState(folder, false, name);
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

  /** Returns the path of the server's unfinished upload of this archive, and whether it has the same wish. */
  findUpload(wish: string): { path: string; isSame: boolean } | undefined {
    const upload = this.#pending?.upload;
    return upload && { path: upload.path, isSame: upload.wish === wish };
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

  /** Lets other processes open the state. */
  async close(): Promise<void> {
    if (this.isTemporary) await rm(this.#folder, { recursive: true, force: true });
    else await rm(lockFile(this.#folder, this.#name), { force: true });
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

function lockFile(folder: string, name: string): string {
  return join(folder, `${name}.lock`);
}

/**
 * Creates a file with the number of this process. Replaces that of a process that has ended.
 *
 * @throws PublishError if the process of an existing file is running
 */
async function lock(file: string): Promise<void> {
  for (;;)
    try {
      await writeFile(file, String(process.pid), { flag: "wx", mode: 0o600 });
      return;
    } catch (error) {
      if (systemErrorCode(error) !== "EEXIST") throw error;
      const holder = Number(await readFile(file, "utf8").catch(() => ""));
      if (await isRunning(holder))
        throw new PublishError("publish_in_progress", "Another joypod-publish publishes this game.", {
          details: [`It is process ${holder}. If that is another program, remove ${file}.`],
          cause: error,
        });
      await rm(file, { force: true });
    }
}

async function isRunning(pid: number): Promise<boolean> {
  // A container gives new processes the numbers of those before.
  if (!Number.isSafeInteger(pid) || pid <= 0 || pid === process.pid) return false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: a process of another user.
    if (systemErrorCode(error) !== "EPERM") return false;
  }
  // A killed process remains as a zombie in containers whose first process is no init.
  const status = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  return !/\) [ZX] [^)]*$/.test(status);
}

async function removeOld(folder: string, now: Date): Promise<void> {
  for (const name of await readdir(folder)) {
    const file = join(folder, name);
    const found = await stat(file).catch(() => undefined);
    if (found !== undefined && found.mtimeMs < now.getTime() - keptMs) await rm(file, { force: true });
  }
}

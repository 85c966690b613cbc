import { lstatSync, readdirSync, readlinkSync, realpathSync, statSync, type Stats } from "node:fs";
import { join, relative, sep } from "node:path";
import { systemErrorCode } from "#runtime/errors.ts";
import { PublishError } from "../publishError.ts";

/** A file or directory to pack. */
export interface FolderEntry {
  /** Path in the archive, with slashes and without one at the end. */
  path: string;
  /** Where the file is on this machine. */
  location: string;
  isDirectory: boolean;
  size: number;
  mtimeMs: number;
  /** When the content or the metadata changed, which builds with constant times do not set. */
  ctimeMs: number;
  /** Whether the file system marks it as executable. Windows has no such mark. */
  isMarkedExecutable: boolean;
}

/** The content of a folder. */
export interface FolderListing {
  /** Each directory comes before its content. The order depends only on the names. */
  entries: readonly FolderEntry[];
  /** Paths that are left out because the file manager or version control made them. */
  leftOut: readonly string[];
  /** Symbolic links that are packed as copies of what they point to. */
  copiedLinks: readonly string[];
}

/** Names that no game needs, in lower case. */
const junkNames: ReadonlySet<string> = new Set([
  ".ds_store",
  ".git",
  ".svn",
  ".spotlight-v100",
  ".trashes",
  ".fseventsd",
  "__macosx",
  "thumbs.db",
  "desktop.ini",
]);

/** Number of problems that an error lists. */
const listedProblems = 20;

/**
 * Lists the content of a folder in a fixed order. A symbolic link that stays inside the folder is followed,
 * because archives have no links.
 *
 * @throws PublishError that names each file that cannot be packed
 */
export function listFolder(folder: string, platform: NodeJS.Platform): FolderListing {
  const walk = new FolderWalk(openFolder(folder), platform);
  walk.run();
  const { entries, leftOut, copiedLinks, problems } = walk;
  if (problems.length > 0)
    throw new PublishError("unpackable_files", "Some files cannot be packed:", {
      details: listUpTo(problems, listedProblems),
    });
  return { entries, leftOut, copiedLinks };
}

/** Returns the names at the root of a folder that may be the launcher and the engine directory of a game. */
export function rootNames({ entries }: FolderListing): { launchers: string[]; engineDirs: string[] } {
  const root = entries.filter(({ path }) => !path.includes("/"));
  const directories = root.filter(({ isDirectory }) => isDirectory);
  const scripts = root.filter(({ isDirectory, path }) => !isDirectory && path.endsWith(".sh"));
  return { launchers: scripts.map(({ path }) => path), engineDirs: directories.map(({ path }) => path) };
}

/** Returns the first lines, and the number of the others. */
export function listUpTo(lines: readonly string[], max: number): string[] {
  const more = lines.length - max;
  return more > 0 ? [...lines.slice(0, max), `and ${more} more`] : [...lines];
}

function openFolder(folder: string): string {
  try {
    const root = realpathSync(folder);
    if (statSync(root).isDirectory()) return root;
  } catch (error) {
    if (systemErrorCode(error) !== "ENOENT") throw error;
    throw new PublishError(
      "no_folder",
      `The folder ${folder} does not exist. For a list of commands: joypod-publish --help`,
      { cause: error },
    );
  }
  throw new PublishError("no_folder", `${folder} is not a folder. Specify the folder of the game.`);
}

class FolderWalk {
  readonly entries: FolderEntry[] = [];
  readonly leftOut: string[] = [];
  readonly copiedLinks: string[] = [];
  readonly problems: string[] = [];
  readonly #root: string;
  readonly #platform: NodeJS.Platform;

  constructor(root: string, platform: NodeJS.Platform) {
    this.#root = root;
    this.#platform = platform;
  }

  run(): void {
    this.#addContent("", this.#root, [this.#root]);
  }

  /** Adds the content of a directory. `parents` are the real paths of it and the directories above it. */
  #addContent(path: string, location: string, parents: readonly string[]): void {
    for (const name of readdirSync(location).sort()) {
      const packed = this.#nameOf(name);
      const entryPath = path === "" ? packed : `${path}/${packed}`;
      if (isJunk(name)) this.leftOut.push(entryPath);
      else this.#tryAdd(entryPath, join(location, name), parents);
    }
  }

  /**
   * macOS treats both Unicode forms of a name as equal and may return the decomposed one, which archives do
   * not allow. Elsewhere, the game could not find the file under another form.
   */
  #nameOf(name: string): string {
    return this.#platform === "darwin" ? name.normalize("NFC") : name;
  }

  #tryAdd(path: string, location: string, parents: readonly string[]): void {
    try {
      this.#add(path, location, parents);
    } catch (error) {
      const code = systemErrorCode(error);
      if (code === undefined) throw error;
      this.problems.push(`${path} cannot be read (${code})`);
    }
  }

  #add(path: string, location: string, parents: readonly string[]): void {
    const stats = lstatSync(location);
    if (!stats.isSymbolicLink()) {
      this.#addFile(path, location, stats, parents);
      return;
    }
    const problem = this.#problemOfLink(location, parents);
    if (problem !== undefined) {
      this.problems.push(`${path} ${problem}`);
      return;
    }
    this.copiedLinks.push(path);
    this.#addFile(path, location, statSync(location), parents);
  }

  #addFile(path: string, location: string, stats: Stats, parents: readonly string[]): void {
    const { size, mtimeMs, ctimeMs, mode } = stats;
    const times = { mtimeMs, ctimeMs };
    if (stats.isDirectory()) {
      const entry = { path, location, isDirectory: true, size: 0, ...times, isMarkedExecutable: true };
      this.entries.push(entry);
      this.#addContent(path, location, [...parents, realpathSync(location)]);
    } else if (stats.isFile()) {
      const isMarkedExecutable = this.#platform !== "win32" && (mode & 0o111) !== 0;
      this.entries.push({ path, location, isDirectory: false, size, ...times, isMarkedExecutable });
    } else this.problems.push(`${path} is neither a file nor a folder`);
  }

  /** Returns why a link cannot be followed, or undefined. */
  #problemOfLink(location: string, parents: readonly string[]): string | undefined {
    const link = `is a symbolic link to ${readlinkSync(location)}`;
    let target: string;
    try {
      target = realpathSync(location);
    } catch (error) {
      if (systemErrorCode(error) === "ELOOP") return `${link}, which leads back to itself`;
      return `${link}, which does not exist`;
    }
    if (isOutside(this.#root, target)) return `${link}, which is outside the folder`;
    return parents.includes(target) ? `${link}, which contains the link` : undefined;
  }
}

function isJunk(name: string): boolean {
  return name.startsWith("._") || junkNames.has(name.toLowerCase());
}

function isOutside(root: string, target: string): boolean {
  const path = relative(root, target);
  return path === ".." || path.startsWith(`..${sep}`) || path.startsWith(sep) || /^[A-Za-z]:/.test(path);
}

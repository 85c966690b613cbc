import { readFileSync } from "node:fs";
import { createArchiveInspector } from "#archive/archiveInspector.ts";
import { ArchiveRefused, gameArchiveRules, quoteEntry } from "#archive/archiveRules.ts";
import { PublishError } from "../publishError.ts";
import type { FolderListing } from "./listFolder.ts";

/** The names at the archive's root that a game is registered with. */
export interface GameLayout {
  launcher: string;
  engineDir: string;
}

/** A launcher larger than this is no script, so its lines are not checked. */
const launcherMaxBytes = 1024 * 1024;

/**
 * Checks the folder by the rules that the server applies to the archive: names, sizes, launcher and engine
 * directory.
 *
 * @throws PublishError that lists every violation
 */
export function checkFolder(listing: FolderListing, layout: GameLayout): void {
  const inspector = createArchiveInspector(gameArchiveRules(layout), undefined);
  try {
    for (const { path, isDirectory, size, mtimeMs } of listing.entries)
      inspector.entry({
        name: isDirectory ? `${path}/` : path,
        type: isDirectory ? "5" : "0",
        size,
        storedBytes: size,
        mode: 0o755,
        mtimeSeconds: Math.floor(mtimeMs / 1000),
      });
    inspector.finish();
  } catch (error) {
    throw toRefusal(inspector.errorFor(error), layout, listing);
  }
  checkLauncher(listing, layout.launcher);
}

/**
 * Checks that the archive does not compress too well, which the server takes for a decompression bomb.
 *
 * @throws PublishError
 */
export function checkRatio(layout: GameLayout, packedBytes: number, unpackedBytes: number): void {
  try {
    createArchiveInspector(gameArchiveRules(layout), packedBytes).progress(packedBytes, unpackedBytes);
  } catch (error) {
    if (!(error instanceof ArchiveRefused)) throw error;
    throw new PublishError("invalid_archive", error.message, { cause: error });
  }
}

function toRefusal(error: unknown, { launcher, engineDir }: GameLayout, listing: FolderListing): unknown {
  if (!(error instanceof ArchiveRefused)) return error;
  const details = error.refusals.map(({ place, rule }) =>
    place === undefined ? `The folder ${rule}` : `${quoteEntry(place)} ${rule}`,
  );
  const names = new Set(listing.entries.map(({ path }) => path.split("/")[0] ?? ""));
  const isLayoutMissing = !names.has(launcher) || !names.has(engineDir);
  if (isLayoutMissing) details.push(`The root of the folder has: ${rootText([...names])}`);
  return new PublishError("invalid_archive", "The server would refuse this folder:", {
    details,
    cause: error,
  });
}

function rootText(names: readonly string[]): string {
  const shown = names.slice(0, 10).join(", ");
  return names.length > 10 ? `${shown} and ${names.length - 10} more` : shown || "nothing";
}

/** Editors on Windows write lines and marks that a shell on Linux cannot read. */
function checkLauncher({ entries }: FolderListing, launcher: string): void {
  const entry = entries.find(({ path }) => path === launcher);
  if (entry === undefined || entry.size > launcherMaxBytes) return;
  const content = readFileSync(entry.location);
  if (content.includes(0)) return;
  if (content.includes("\r\n"))
    throw new PublishError(
      "invalid_launcher",
      `${launcher} has Windows line endings, so Linux cannot run it. Save it with LF line endings.`,
    );
  if (content.subarray(0, 3).equals(Buffer.from([0xef, 0xbb, 0xbf])))
    throw new PublishError(
      "invalid_launcher",
      `${launcher} starts with a byte order mark, so Linux cannot run it. Save it as UTF-8 without BOM.`,
    );
}

import type { BigIntStats } from "node:fs";
import { ArchiveRefused } from "#archive/archiveRefused.ts";
import { parseEntryName } from "#archive/entryName.ts";

const maxDepth = 64;

/** Returns why an entry cannot be part of an archive that is read back; undefined when it can. */
export function reasonToSkip(path: string, name: Buffer, stat: BigIntStats): string | undefined {
  if (!stat.isFile() && !stat.isDirectory())
    return stat.isSymbolicLink() ? "is a symbolic link" : "is neither a file nor a directory";
  if (!Buffer.from(name.toString("utf8")).equals(name)) return "has a name that is not UTF-8";
  try {
    const components = parseEntryName(stat.isDirectory() ? `${path}/` : path, "posix");
    return components.length > maxDepth ? "lies too deep" : undefined;
  } catch (error) {
    if (error instanceof ArchiveRefused) return error.rule;
    throw error;
  }
}

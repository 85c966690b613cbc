import { readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { repositoryRoot } from "./programs.ts";

/**
 * Returns whether a built file, by its path under the root, is there and of the sources in these folders as
 * they are: what is built beside it is none.
 */
export function isBuiltOf(file: string, folders: readonly string[]): boolean {
  const builtAt = statSync(join(repositoryRoot, file), { throwIfNoEntry: false })?.mtimeMs;
  const beside = join(repositoryRoot, dirname(file), "/");
  return (
    builtAt !== undefined &&
    folders.flatMap(filesIn).every((path) => path.startsWith(beside) || statSync(path).mtimeMs <= builtAt)
  );
}

function filesIn(folder: string): string[] {
  return readdirSync(join(repositoryRoot, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
}

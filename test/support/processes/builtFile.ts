import { readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { repositoryRoot } from "./programs.ts";

/**
 * Returns true if a built file (a path in the repository) exists and no file in these folders is newer,
 * except files next to it.
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

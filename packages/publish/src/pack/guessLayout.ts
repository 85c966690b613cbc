import type { FolderListing } from "./listFolder.ts";
import type { GameLayout } from "./checkFolder.ts";

/** Returns the launcher and the engine directory if the root of the folder leaves no choice. */
export function guessLayout({ entries }: FolderListing): Partial<GameLayout> {
  const root = entries.filter(({ path }) => !path.includes("/"));
  const directories = root.filter(({ isDirectory }) => isDirectory);
  const scripts = root.filter(({ isDirectory, path }) => !isDirectory && path.endsWith(".sh"));
  const [launcher, otherScript] = scripts;
  const [engineDir, otherDirectory] = directories;
  return {
    ...(launcher !== undefined && otherScript === undefined ? { launcher: launcher.path } : {}),
    ...(engineDir !== undefined && otherDirectory === undefined ? { engineDir: engineDir.path } : {}),
  };
}

import { ArchiveRefused } from "./archiveRefused.ts";
import type { ArchiveRules } from "./archiveRules.ts";
import { foldName } from "./entryName.ts";

/** One name of the archive's tree. */
interface TreeNode {
  /** As `keptOf` returns it. */
  name: string;
  isDirectory: boolean;
  /** Made with the first of them: many directories have none. */
  children?: Map<string, TreeNode>;
  /** Whether the archive has an entry for it; false for a directory that so far is only part of paths. */
  isListed: boolean;
}

/**
 * The names read so far, as a tree, which rejects duplicates, names that differ only by case, and files under
 * files.
 */
export interface EntryTree {
  /**
   * Adds an entry; returns the number of new names, those of its parent directories included. Throws
   * ArchiveRefused.
   */
  add(components: readonly string[], isDirectory: boolean): number;
  /** Whether the root has this directory, in these very letters. */
  hasDirectory(name: string): boolean;
}

export function createEntryTree(names: ArchiveRules["names"]): EntryTree {
  const root: TreeNode = { name: "", isDirectory: true, isListed: true };
  const foldOf = names === "portable" ? foldName : (name: string): string => name;

  function add(components: readonly string[], isDirectory: boolean): number {
    const entry = components.join("/");
    let parent = root;
    let added = 0;
    for (const [index, name] of components.entries()) {
      const isLast = index === components.length - 1;
      const { node, isNew } = childOf(parent, name, !isLast || isDirectory, entry);
      added += isNew ? 1 : 0;
      if (isLast) list(node, isNew, isDirectory, entry);
      parent = node;
    }
    return added;
  }

  function childOf(
    parent: TreeNode,
    name: string,
    isDirectory: boolean,
    entry: string,
  ): { node: TreeNode; isNew: boolean } {
    if (!parent.isDirectory) throw new ArchiveRefused("lies under a file", { entry });
    const kept = keptOf(name);
    const folded = foldOf(name);
    // Where a name is its own fold, which it mostly is, one string is both.
    const key = folded === name ? kept : keptOf(folded);
    const known = parent.children?.get(key);
    if (known !== undefined) {
      if (known.name !== kept)
        throw new ArchiveRefused(`differs only by case from ${JSON.stringify(nameOf(known.name))}`, {
          entry,
        });
      return { node: known, isNew: false };
    }
    const node: TreeNode = { name: kept, isDirectory, isListed: false };
    parent.children ??= new Map();
    parent.children.set(key, node);
    return { node, isNew: true };
  }

  function list(node: TreeNode, isNew: boolean, isDirectory: boolean, entry: string): void {
    const isSameKind = node.isDirectory === isDirectory;
    if (!isNew && (node.isListed || !isSameKind)) throw new ArchiveRefused("is there twice", { entry });
    node.isListed = true;
  }

  function hasDirectory(name: string): boolean {
    const node = root.children?.get(keptOf(foldOf(name)));
    return node?.name === keptOf(name) && node.isDirectory;
  }

  return { add, hasDirectory };
}

/**
 * Returns a name as it is kept: a copy, as a part of a string may keep all of that string in memory, and one
 * character for each byte of its UTF-8, as a single character beyond Latin-1 doubles what a name takes.
 */
function keptOf(name: string): string {
  return Buffer.from(name).toString("latin1");
}

function nameOf(kept: string): string {
  return Buffer.from(kept, "latin1").toString();
}

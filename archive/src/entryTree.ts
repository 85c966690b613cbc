import { ArchiveRefused } from "./archiveRefused.ts";
import type { ArchiveRules } from "./archiveRules.ts";
import { foldName } from "./entryName.ts";

/** One name of the archive's tree. */
interface TreeNode {
  name: string;
  /** Undefined for a file. */
  children: Map<string, TreeNode> | undefined;
  /** Whether the archive has an entry for it; false for a directory that so far is only part of paths. */
  isListed: boolean;
}

/** The names read so far, as a tree, which rejects duplicates, names that differ only by case, and files under files. */
export interface EntryTree {
  /** Adds an entry; returns the number of new names, those of its parent directories included. Throws ArchiveRefused. */
  add(components: readonly string[], isDirectory: boolean): number;
  /** Whether the root has this directory, in these very letters. */
  hasDirectory(name: string): boolean;
}

export function createEntryTree(names: ArchiveRules["names"]): EntryTree {
  const root: TreeNode = { name: "", children: new Map(), isListed: true };
  const keyOf = names === "portable" ? foldName : (name: string): string => name;

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

  function childOf(parent: TreeNode, name: string, isDirectory: boolean, entry: string): { node: TreeNode; isNew: boolean } {
    if (parent.children === undefined) throw new ArchiveRefused("lies under a file", { entry });
    const key = keyOf(name);
    const known = parent.children.get(key);
    if (known !== undefined) {
      if (known.name !== name) throw new ArchiveRefused(`differs only by case from ${JSON.stringify(known.name)}`, { entry });
      return { node: known, isNew: false };
    }
    const kept = copyOf(name);
    const node: TreeNode = { name: kept, children: isDirectory ? new Map() : undefined, isListed: false };
    parent.children.set(keyOf(kept), node);
    return { node, isNew: true };
  }

  function list(node: TreeNode, isNew: boolean, isDirectory: boolean, entry: string): void {
    const isSameKind = (node.children !== undefined) === isDirectory;
    if (!isNew && (node.isListed || !isSameKind)) throw new ArchiveRefused("is there twice", { entry });
    node.isListed = true;
  }

  function hasDirectory(name: string): boolean {
    const node = root.children?.get(keyOf(name));
    return node?.name === name && node.children !== undefined;
  }

  return { add, hasDirectory };
}

/** A part of a string may keep all of that string in memory: a name its whole path. */
function copyOf(name: string): string {
  return Buffer.from(name).toString();
}

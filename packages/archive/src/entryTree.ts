import { limits } from "#contracts/limits.ts";
import { ArchiveRefused, type ArchiveRules } from "./archiveRules.ts";

const controlCharacter = /[\u0000-\u001f\u007f-\u009f]/;

/**
 * Returns the components of an entry's path; empty for the root (`./`). Throws ArchiveRefused for a name that
 * could escape the directory or means different things on different systems.
 */
export function parseEntryName(name: string, names: ArchiveRules["names"]): string[] {
  const reject = (rule: string): never => {
    throw new ArchiveRefused(rule, { entry: name });
  };
  if (name === "") reject("has no name");
  if (Buffer.byteLength(name) > limits.archive.pathBytes)
    reject(`has a path longer than ${limits.archive.pathBytes} bytes`);
  if (controlCharacter.test(name)) reject("has a control character in its name");
  if (name.startsWith("/")) reject("has an absolute path");
  const path = withoutDotSlash(name).replace(/\/$/, "");
  if (path === "" || path === ".") return [];
  if (names === "portable") checkPortable(path, reject);
  const components = path.split("/");
  for (const component of components) {
    if (component === "..") reject("has .. in its path");
    if (component === "" || component === ".") reject("has an empty or . component in its path");
    if (Buffer.byteLength(component) > limits.archive.componentBytes) {
      reject(`has a path component longer than ${limits.archive.componentBytes} bytes`);
    }
  }
  return components;
}

/** Removes one leading `./`, which `tar -C directory -c .` writes. */
function withoutDotSlash(name: string): string {
  return name.startsWith("./") ? name.slice(2) : name;
}

function checkPortable(path: string, reject: (rule: string) => never): void {
  if (path.startsWith("/")) reject("has an empty or . component in its path");
  if (path.includes("\\")) reject("has a backslash in its name");
  if (/^[A-Za-z]:/.test(path)) reject("starts with a drive letter");
  if (path !== path.normalize("NFC")) reject("has a name that is not in Unicode normal form C");
}

/**
 * Returns the same text for all names that are equal on a case-insensitive file system, for example `ß`, `SS`
 * and `ẞ`, or `i` and `ı`.
 */
function foldName(component: string): string {
  return component.toLowerCase().toUpperCase().toLowerCase().normalize("NFC");
}

/** A name in the archive's tree. */
interface TreeNode {
  /** As returned by `keptOf`. */
  name: string;
  isDirectory: boolean;
  /** Created on demand, because many directories are empty. */
  children?: Map<string, TreeNode>;
  /**
   * Whether the archive has an entry for it; false for a directory that has only appeared in paths so far.
   */
  isListed: boolean;
}

/**
 * The names read so far as a tree. Rejects duplicates, names that differ only by case, and files below files.
 */
export interface EntryTree {
  /**
   * Adds an entry. Returns the number of new names, including its parent directories. Throws ArchiveRefused.
   */
  add(components: readonly string[], isDirectory: boolean): number;
  /** Returns whether the root has a directory with exactly this name. */
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
      const place = components.slice(0, index + 1).join("/");
      const { node, isNew } = childOf(parent, name, !isLast || isDirectory, { entry, place });
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
    where: { entry: string; place: string },
  ): { node: TreeNode; isNew: boolean } {
    if (!parent.isDirectory) throw new ArchiveRefused("is below a file", where);
    const kept = keptOf(name);
    const folded = foldOf(name);
    // Most names are equal to their folded form, and then share one string.
    const key = folded === name ? kept : keptOf(folded);
    const known = parent.children?.get(key);
    if (known !== undefined) {
      if (known.name !== kept)
        throw new ArchiveRefused(`differs only by case from ${JSON.stringify(nameOf(known.name))}`, where);
      return { node: known, isNew: false };
    }
    const node: TreeNode = { name: kept, isDirectory, isListed: false };
    parent.children ??= new Map();
    parent.children.set(key, node);
    return { node, isNew: true };
  }

  function list(node: TreeNode, isNew: boolean, isDirectory: boolean, entry: string): void {
    const isSameKind = node.isDirectory === isDirectory;
    if (!isNew && (node.isListed || !isSameKind)) throw new ArchiveRefused("exists twice", { entry });
    node.isListed = true;
  }

  function hasDirectory(name: string): boolean {
    const node = root.children?.get(keptOf(foldOf(name)));
    return node?.name === keptOf(name) && node.isDirectory;
  }

  return { add, hasDirectory };
}

/**
 * Returns a compact copy of a name: a substring may keep the whole string in memory, and a single character
 * beyond Latin-1 doubles its size. Each UTF-8 byte becomes one character.
 */
function keptOf(name: string): string {
  return Buffer.from(name).toString("latin1");
}

function nameOf(kept: string): string {
  return Buffer.from(kept, "latin1").toString();
}

import { limits } from "#contracts/limits.ts";
import { ArchiveRefused } from "./archiveRefused.ts";
import type { ArchiveRules } from "./archiveRules.ts";

const controlCharacter = /[\u0000-\u001f\u007f-\u009f]/;

/**
 * The components of an entry's effective path, none for the root itself (`./`).
 * Throws ArchiveRefused for a name that could lead out of the directory or means different things on different systems.
 */
export function parseEntryName(name: string, names: ArchiveRules["names"]): string[] {
  const refuse = (rule: string): never => {
    throw new ArchiveRefused(rule, { entry: name });
  };
  if (name === "") refuse("has no name");
  if (Buffer.byteLength(name) > limits.archive.pathBytes) refuse(`has a path longer than ${limits.archive.pathBytes} bytes`);
  if (controlCharacter.test(name)) refuse("has a control character in its name");
  if (name.startsWith("/")) refuse("has an absolute path");
  const path = withoutDotSlash(name).replace(/\/$/, "");
  if (path === "" || path === ".") return [];
  if (names === "portable") checkPortable(path, refuse);
  const components = path.split("/");
  for (const component of components) {
    if (component === "..") refuse("has .. in its path");
    if (component === "" || component === ".") refuse("has an empty or . component in its path");
    if (Buffer.byteLength(component) > limits.archive.componentBytes) {
      refuse(`has a path component longer than ${limits.archive.componentBytes} bytes`);
    }
  }
  return components;
}

/** `tar -C directory -c .` writes every name with one leading `./`. */
function withoutDotSlash(name: string): string {
  return name.startsWith("./") ? name.slice(2) : name;
}

function checkPortable(path: string, refuse: (rule: string) => never): void {
  if (path.startsWith("/")) refuse("has an empty or . component in its path");
  if (path.includes("\\")) refuse("has a backslash in its name");
  if (/^[A-Za-z]:/.test(path)) refuse("starts with a drive letter");
  if (path !== path.normalize("NFC")) refuse("has a name that is not in Unicode normal form C");
}

/** Names that a file system without case would take for the same have the same fold: `ß`, `SS` and `ẞ`, `i` and `ı`. */
export function foldName(component: string): string {
  return component.toLowerCase().toUpperCase().toLowerCase().normalize("NFC");
}

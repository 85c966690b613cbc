import { limits } from "#contracts/limits.ts";
import { ArchiveRefused } from "./archiveRefused.ts";
import type { ArchiveRules } from "./archiveRules.ts";

const controlCharacter = /[\u0000-\u001f\u007f-\u009f]/;

/**
 * Returns the components of an entry's effective path, none for the root itself (`./`). Throws ArchiveRefused
 * for a name that could lead out of the directory or means different things on different systems.
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

/** `tar -C directory -c .` writes every name with one leading `./`. */
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
 * Returns the same fold for names that are one name to a file system without case: `ß`, `SS` and `ẞ`, `i` and
 * `ı`.
 */
export function foldName(component: string): string {
  return component.toLowerCase().toUpperCase().toLowerCase().normalize("NFC");
}

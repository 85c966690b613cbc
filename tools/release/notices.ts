import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Component } from "./billOfMaterials.ts";

const licenceFile = /^(licen[cs]e|copying|notice)([.-].*)?$/i;

/** Folders with the sources of npm packages and Go modules. */
export interface Sources {
  npm: readonly string[];
  go: string;
}

/**
 * Returns the licence texts of npm packages and Go modules, and lists those without a licence file. Licences
 * of Debian packages are in the images under /usr/share/doc.
 */
export async function thirdPartyNotices(components: readonly Component[], sources: Sources): Promise<string> {
  const parts = new Map(
    components
      .filter(({ purl }) => /^pkg:(npm|golang)\//.test(String(purl)))
      .map((component) => [String(component["purl"]), component]),
  );
  const sections: string[] = [];
  const without: string[] = [];
  for (const [purl, component] of [...parts].sort(([one], [other]) => one.localeCompare(other))) {
    const text = await licenceOf(purl, component, sources);
    if (text === "") without.push(purl);
    else sections.push(`${"=".repeat(80)}\n${purl}\n${"=".repeat(80)}\n\n${text.trim()}\n`);
  }
  const head =
    "Third-party software in the images and command lines, by package, with licences.\nLicences of Debian packages are in the images, in /usr/share/doc/*/copyright.\n";
  const missing = without.length === 0 ? "" : `\nNo licence file was found for: ${without.join(", ")}\n`;
  return `${head}${missing}\n${sections.join("\n")}`;
}

async function licenceOf(purl: string, component: Component, { npm, go }: Sources): Promise<string> {
  const { name, version, group } = component;
  const fullName = typeof group === "string" && group !== "" ? `${group}/${name}` : name;
  const folders = purl.startsWith("pkg:npm/")
    ? npm.map((folder) => join(folder, fullName))
    : [join(go, `${escaped(name)}@${String(version)}`)];
  for (const folder of folders) {
    const files = (await readdir(folder).catch(() => [])).filter((file) => licenceFile.test(file)).sort();
    const texts = await Promise.all(
      files.map((file) => readFile(join(folder, file), "utf8").catch(() => "")),
    );
    if (texts.length > 0) return texts.join("\n\n");
  }
  return "";
}

/**
 * Returns the module path as in Go's module cache, with "!" and the lower-case letter for each upper-case
 * one.
 */
function escaped(path: string): string {
  return path.replaceAll(/[A-Z]/g, (letter) => `!${letter.toLowerCase()}`);
}

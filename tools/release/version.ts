import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const semanticVersion = /^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/;

/** Files that contain the version, with the pattern around it. */
const places = [
  { file: "package.json", pattern: /^( {2}"version": ")([^"]+)(")/m },
  { file: "package-lock.json", pattern: /^( {2}"version": ")([^"]+)(")/m },
  { file: "package-lock.json", pattern: /^( {6}"version": ")([^"]+)(")/m },
  { file: "charts/joypod/Chart.yaml", pattern: /^(version: )(\S+)()$/m },
  { file: "charts/joypod/Chart.yaml", pattern: /^(appVersion: ")([^"]+)(")$/m },
];

/** An image in the chart's values: `name: repository/name:version`. */
const imageLine = /^( {2}[A-Za-z]+: joypod\/[a-z-]+:)(\S+)$/gm;
const valuesFile = "charts/joypod/values.yaml";

/** Returns the version in package.json. */
export function projectVersion(root: string): string {
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
  return version;
}

/** Returns a sentence for each place whose version differs from that in package.json. */
export function disagreements(root: string): string[] {
  const version = projectVersion(root);
  const found = places.map(({ file, pattern }) => ({
    file,
    found: pattern.exec(readFileSync(join(root, file), "utf8"))?.[2],
  }));
  const images = [...readFileSync(join(root, valuesFile), "utf8").matchAll(imageLine)].map(([, , tag]) => ({
    file: valuesFile,
    found: tag,
  }));
  if (images.length === 0) return [`${valuesFile} names no images.`];
  return [...found, ...images]
    .filter((place) => place.found !== version)
    .map((place) => `${place.file} has version ${place.found ?? "none"}, but package.json has ${version}.`);
}

/** Writes the version to all files that contain it. @throws If it is not a semantic version. */
export function setVersion(root: string, version: string): void {
  if (!semanticVersion.test(version))
    throw new Error(`"${version}" is not a semantic version, such as 1.2.3.`);
  for (const { file, pattern } of places)
    rewrite(join(root, file), (text) => text.replace(pattern, `$1${version}$3`));
  rewrite(join(root, valuesFile), (text) => text.replace(imageLine, `$1${version}`));
}

function rewrite(file: string, change: (text: string) => string): void {
  writeFileSync(file, change(readFileSync(file, "utf8")));
}

import { globSync, readFileSync } from "node:fs";
import { unmistakable } from "./retiredTerms.js";

/** What oxlint does not read: documents, charts, scripts, programs in other languages. */
const read = "**/{Dockerfile,*.{c,css,go,h,html,js,json,md,mjs,prisma,py,sh,tpl,txt,yaml,yml}}";
/**
 * What others write, what is made by a build, the list of the terms, and a result's name that archives of the
 * hostile game print.
 */
const skipped = [
  "games/hostile/processor.c",
  "**/node_modules",
  "**/dist",
  "test-results",
  "api/src/generated",
  "tools/lint",
  "**/package-lock.json",
];

/** Returns each retired term of a text with its line, also one that goes on in the next line. */
export function retiredTermsIn(text) {
  const lines = text.split("\n").map((line) => line.replace(/^[\s#/*>]+/, "").trimEnd());
  return lines.flatMap((line, at) =>
    unmistakable.flatMap(({ text: pattern, say }) => {
      const found = pattern.exec(`${line} ${lines[at + 1] ?? ""}`);
      return found !== null && found.index < line.length ? [{ line: at + 1, name: found[0], say }] : [];
    }),
  );
}

if (import.meta.main) {
  for (const path of globSync(read, { exclude: skipped })) {
    for (const { line, name, say } of retiredTermsIn(readFileSync(path, "utf8"))) {
      console.error(`${path}:${line}: “${name}” is a retired term. Say ${say}.`);
      process.exitCode = 1;
    }
  }
}

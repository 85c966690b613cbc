#!/usr/bin/env node
// @NAME@ @VERSION@, part of Joypod (Apache-2.0). Its files are compressed at the end of this file.
"use strict";
if (Number(process.versions.node.split(".")[0]) < 24) {
  console.error(`@NAME@ needs Node.js 24 or later, but this is ${process.versions.node}.`);
  process.exit(1);
}
// The file name has no extension, so its folder decides whether Node loads it as CommonJS or as an ES module.
// getBuiltinModule works in both.
const { createHash } = process.getBuiltinModule("node:crypto");
const { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } =
  process.getBuiltinModule("node:fs");
const { homedir } = process.getBuiltinModule("node:os");
const { dirname, join } = process.getBuiltinModule("node:path");
const { pathToFileURL } = process.getBuiltinModule("node:url");
const { brotliDecompressSync } = process.getBuiltinModule("node:zlib");

/** Returns the folder with the files of this version. Created atomically by a rename. */
function unpacked(contents) {
  const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "joypod-commands");
  const folder = join(cache, createHash("sha256").update(contents).digest("hex").slice(0, 32));
  if (existsSync(folder)) return folder;
  mkdirSync(cache, { recursive: true, mode: 0o700 });
  const fresh = mkdtempSync(join(cache, ".new."));
  const files = {
    "package.json": Buffer.from('{"type":"module"}').toString("base64"),
    ...JSON.parse(brotliDecompressSync(Buffer.from(contents, "base64"))),
  };
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(fresh, path)), { recursive: true });
    writeFileSync(join(fresh, path), Buffer.from(content, "base64"));
  }
  try {
    renameSync(fresh, folder);
  } catch (error) {
    // Another process created it first.
    rmSync(fresh, { recursive: true, force: true });
    if (!existsSync(folder)) throw error;
  }
  return folder;
}

let folder;
try {
  folder = unpacked("@CONTENTS@");
} catch (error) {
  console.error(
    `@NAME@ could not unpack its files (${error.message}). Set XDG_CACHE_HOME to a writable folder.`,
  );
  process.exit(1);
}
process.argv[1] = join(folder, "@ENTRY@");
import(pathToFileURL(process.argv[1]).href).catch((error) => {
  console.error(error);
  process.exit(1);
});

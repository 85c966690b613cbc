import { createHash, randomBytes } from "node:crypto";
import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { gzipSync } from "node:zlib";
import { expect } from "chai";
import { packTar } from "modern-tar";
import { acceptedArchiveRules } from "#archive/archiveRules.ts";
import { createTreeWriter } from "#node-agent/unpack/treeWriter.ts";
import { unpackArchive } from "#node-agent/unpack/unpack.ts";

const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

const style = { fileMode: 0o600, executableMode: 0o700, directoryMode: 0o700 };

describe("unpackArchive", () => {
  it("writes the right bytes to every file for any sequence of sizes", async () => {
    const directory = await mkdtemp(join(tmpdir(), "joypod-unpack-"));
    try {
      const sizes = [0, 1, 511, 512, 513, 40_000, 1 << 20, (1 << 20) + 1, 5_000_000, 0, 20_000_000];
      const files = [...sizes, ...Array.from({ length: 600 }, (_, index) => index * 37)].map(
        (size, index) => {
          const start = randomBytes(Math.ceil(size / 2));
          return {
            name: `folder${index % 7}/file${index}.bin`,
            body: Buffer.concat([start, Buffer.alloc(size - start.length, "a line ")]),
          };
        },
      );
      const archive = gzipSync(
        await packTar(files.map(({ name, body }) => ({ header: { name, size: body.length }, body }))),
      );
      const { unpackedBytes } = await unpackArchive({
        source: Readable.from(slices(archive, 300_007)),
        sha256: sha256(archive),
        directory,
        rules: acceptedArchiveRules,
        style,
      });
      expect(unpackedBytes).to.equal(files.reduce((total, { body }) => total + body.length, 0));
      for (const { name, body } of files)
        expect(sha256(await readFile(join(directory, name))), name).to.equal(sha256(body));
    } finally {
      await rm(directory, { recursive: true });
    }
  });

  it("keeps the archive's file times, except those that a file system may not support", async () => {
    const directory = await mkdtemp(join(tmpdir(), "joypod-unpack-"));
    try {
      const files: [string, string[], number, number][] = [
        ["wine.inf", ["[version]\n"], 1_577_934_245, 1_577_934_245],
        ["slow.py", ["import", " os\n"], 981_173_106, 981_173_106],
        ["empty.txt", [], 1_000_000_000, 1_000_000_000],
        ["none.txt", ["none\n"], 0, 0],
        ["late.txt", ["late\n"], Number.MAX_SAFE_INTEGER, 0x7fff_ffff],
      ];
      await writeFiles(
        directory,
        files.map(([path, pieces, mtimeSeconds]) => ({ path, pieces, mtimeSeconds })),
      );
      for (const [path, pieces, , expected] of files) {
        expect((await stat(join(directory, path))).mtimeMs, path).to.equal(expected * 1000);
        expect(await readFile(join(directory, path), "utf8"), path).to.equal(pieces.join(""));
      }
    } finally {
      await rm(directory, { recursive: true });
    }
  });

  it("makes scripts and programs executable without executable bits in the archive, however their bytes arrive", async () => {
    const directory = await mkdtemp(join(tmpdir(), "joypod-unpack-"));
    try {
      const files: [string, string[], number][] = [
        ["run.sh", ["#!/bin/sh\n", "exit\n"], 0o700],
        ["slow.py", ["", "#", "!", "/usr/bin/python3\n"], 0o700],
        ["engine", ["\u007fEL", "F\u0002"], 0o700],
        ["notes.txt", ["# A heading"], 0o600],
        ["short.bin", ["\u007fEL"], 0o600],
        ["one.bin", ["#"], 0o600],
        ["empty.bin", [], 0o600],
      ];
      await writeFiles(
        directory,
        files.map(([path, pieces]) => ({ path, pieces, mtimeSeconds: 0 })),
      );
      for (const [path, pieces, mode] of files) {
        expect((await stat(join(directory, path))).mode & 0o777, path).to.equal(mode);
        expect(await readFile(join(directory, path), "utf8"), path).to.equal(pieces.join(""));
      }
    } finally {
      await rm(directory, { recursive: true });
    }
  });
});

/** Writes files without executable bits, each in these pieces. */
async function writeFiles(
  directory: string,
  files: readonly { path: string; pieces: readonly string[]; mtimeSeconds: number }[],
): Promise<void> {
  const writer = createTreeWriter(directory, style);
  for (const { path, pieces, mtimeSeconds } of files) {
    writer.entry?.({
      path,
      isDirectory: false,
      size: pieces.join("").length,
      isExecutable: false,
      mtimeSeconds,
    });
    for (const piece of pieces) {
      writer.data?.(Buffer.from(piece));
      await writer.flush();
    }
    writer.endEntry?.();
  }
  await writer.flush();
  await writer.finish();
}

function* slices(bytes: Buffer, by: number): Generator<Buffer> {
  for (let start = 0; start < bytes.length; start += by) yield bytes.subarray(start, start + by);
}

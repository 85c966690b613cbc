import { createHash, randomBytes } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { gzipSync } from "node:zlib";
import { expect } from "chai";
import { packTar } from "modern-tar";
import { gameArchiveRules } from "#archive/archiveRules.ts";
import { unpackArchive } from "#node-agent/unpack/unpack.ts";

const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

describe("unpacking an archive", () => {
  it("gives every file its own bytes, whatever sizes follow each other", async () => {
    const directory = await mkdtemp(join(tmpdir(), "joypod-unpack-"));
    try {
      const sizes = [0, 1, 511, 512, 513, 40_000, 1 << 20, (1 << 20) + 1, 5_000_000, 0, 20_000_000];
      const files = [...sizes, ...Array.from({ length: 600 }, (_, index) => index * 37)].map((size, index) => {
        const start = randomBytes(Math.ceil(size / 2));
        return { name: `folder${index % 7}/file${index}.bin`, body: Buffer.concat([start, Buffer.alloc(size - start.length, "a line ")]) };
      });
      const archive = gzipSync(await packTar(files.map(({ name, body }) => ({ header: { name, size: body.length }, body }))));
      const { unpackedBytes } = await unpackArchive({
        source: Readable.from(slices(archive, 300_007)), sha256: sha256(archive), directory, rules: gameArchiveRules({}),
        style: { fileMode: 0o600, executableMode: 0o700, directoryMode: 0o700 },
      });
      expect(unpackedBytes).to.equal(files.reduce((total, { body }) => total + body.length, 0));
      for (const { name, body } of files) expect(sha256(await readFile(join(directory, name))), name).to.equal(sha256(body));
    } finally {
      await rm(directory, { recursive: true });
    }
  });
});

function* slices(bytes: Buffer, by: number): Generator<Buffer> {
  for (let start = 0; start < bytes.length; start += by) yield bytes.subarray(start, start + by);
}

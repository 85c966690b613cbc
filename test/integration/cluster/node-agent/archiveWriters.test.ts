import { createHash } from "node:crypto";
import { readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { expect } from "chai";
import { gameArchiveRules } from "#archive/archiveRules.ts";
import { unpackArchive } from "#node-agent/unpack/unpack.ts";

const archives = join(import.meta.dirname, "../../../support/archives");
const writers = readdirSync(archives)
  .filter((file) => file.endsWith(".tar.gz"))
  .map((file) => file.slice(0, -".tar.gz".length));

/** The files that `create.sh` packs. */
const expected: Readonly<Record<string, Buffer>> = {
  "play.sh": Buffer.from("#!/bin/sh\nexec ./engine/run\n"),
  "engine/größe.txt": Buffer.from("größe\n"),
  [`engine/${"d".repeat(90)}/${"f".repeat(90)}.txt`]: Buffer.from("long\n"),
  "engine/old.txt": Buffer.from("old\n"),
  "engine/zeros.bin": Buffer.alloc(300_000),
  "engine/holes.bin": withSegments(Buffer.alloc(700_000)),
};

describe("an archive written by", () => {
  for (const writer of writers) {
    it(`${writer} unpacks to the packed files`, async () => {
      const directory = await mkdtemp(join(tmpdir(), "joypod-writers-"));
      try {
        const packed = readFileSync(join(archives, `${writer}.tar.gz`));
        await unpackArchive({
          source: Readable.from([packed]),
          packedTotal: packed.length,
          sha256: createHash("sha256").update(packed).digest("hex"),
          directory,
          rules: gameArchiveRules({ launcher: "play.sh", engineDir: "engine" }),
          style: { fileMode: 0o600, executableMode: 0o700, directoryMode: 0o700 },
        });
        const files = readdirSync(directory, { recursive: true, encoding: "utf8" }).filter((path) =>
          statSync(join(directory, path)).isFile(),
        );
        expect(files).to.have.members(Object.keys(expected));
        for (const [path, content] of Object.entries(expected))
          expect(readFileSync(join(directory, path)).equals(content), path).to.be.true;
        expect(statSync(join(directory, "play.sh")).mode & 0o777).to.equal(0o700);
      } finally {
        rmSync(directory, { recursive: true });
      }
    });
  }
});

function withSegments(zeros: Buffer): Buffer {
  for (let at = 0; at <= 655_360; at += 16_384) zeros.write("segment\n", at);
  return zeros;
}

import { expect } from "chai";
import { randomBytes } from "node:crypto";
import { gzipSync } from "node:zlib";
import { packTar, type TarEntry } from "modern-tar";
import { ArchiveRefused, gameArchiveRules } from "#archive/archiveRules.ts";
import { ArchiveInspection, type InspectedArchive } from "#api/archives/archiveInspection.ts";

const game = { launcher: "play.sh", engineDir: "engine" };

async function anArchive(...extra: TarEntry[]): Promise<Buffer> {
  const tar = await packTar([
    { header: { name: "engine/", type: "directory", size: 0 } },
    { header: { name: "engine/data.bin", size: 70_000 }, body: Buffer.alloc(70_000, 7) },
    { header: { name: "play.sh", size: 9 }, body: "#!/bin/sh" },
    ...extra,
  ]);
  return gzipSync(tar);
}

async function inspect(archive: Buffer, chunkBytes = 1000, packedTotal?: number): Promise<InspectedArchive> {
  const inspection = new ArchiveInspection(gameArchiveRules(game), { packedTotal });
  try {
    for (let at = 0; at < archive.length; at += chunkBytes)
      await inspection.write(archive.subarray(at, at + chunkBytes));
    return await inspection.finish();
  } finally {
    inspection.close();
  }
}

async function errorMessageOf(archive: Buffer, chunkBytes?: number, packedTotal?: number): Promise<string> {
  try {
    await inspect(archive, chunkBytes, packedTotal);
  } catch (error) {
    if (error instanceof ArchiveRefused) return error.message;
    throw error;
  }
  throw new Error("The archive was accepted.");
}

describe("ArchiveInspection", () => {
  it("lists the content of a valid archive, however it is split", async () => {
    const archive = await anArchive({ header: { name: "readme.txt", size: 2 }, body: "hi" });
    for (const chunkBytes of [1, 511, archive.length]) {
      const { entries, unpackedBytes, rootFiles, rootDirectories } = await inspect(archive, chunkBytes);
      expect({ entries, unpackedBytes, rootFiles, rootDirectories }).to.deep.equal({
        entries: 4,
        unpackedBytes: 70_011,
        rootFiles: ["play.sh", "readme.txt"],
        rootDirectories: ["engine"],
      });
    }
  });

  it("keeps a thousand names at the root, and always those of the launcher and the engine", async () => {
    const many = Array.from({ length: 1_500 }, (_, index): TarEntry[] => [
      { header: { name: `file-${index}`, size: 1 }, body: "x" },
      { header: { name: `folder-${index}/`, type: "directory", size: 0 } },
    ]).flat();
    const archive = gzipSync(
      await packTar([
        ...many,
        { header: { name: "engine/data", size: 1 }, body: "x" },
        { header: { name: "play.sh", size: 9 }, body: "#!/bin/sh" },
      ]),
    );
    const { rootFiles, rootDirectories } = await inspect(archive);
    expect(rootFiles).to.have.length(1_001).and.include("play.sh");
    expect(rootDirectories).to.have.length(1_001).and.include("engine");
  });

  it("refuses an entry outside the game's folder by name", async () => {
    expect(
      await errorMessageOf(await anArchive({ header: { name: "../evil", size: 1 }, body: "x" })),
    ).to.contain("../evil");
  });

  it("refuses a second gzip member and trailing bytes, in the same piece or a later one", async () => {
    const archive = await anArchive();
    for (const tail of [archive, Buffer.from("x"), Buffer.alloc(600)]) {
      for (const chunkBytes of [archive.length, archive.length + tail.length]) {
        expect(await errorMessageOf(Buffer.concat([archive, tail]), chunkBytes)).to.contain("gzip stream");
      }
    }
  });

  it("refuses truncated, damaged and empty archives, and other formats", async () => {
    const archive = await anArchive();
    const damaged = Buffer.from(archive);
    damaged[damaged.length - 8]! ^= 1; // The CRC.
    for (const bytes of [
      archive.subarray(0, -1),
      archive.subarray(0, 100),
      damaged,
      Buffer.alloc(0),
      Buffer.from("PK\x03\x04"),
    ]) {
      expect(await errorMessageOf(bytes)).to.match(/^The archive/);
    }
  });

  it("refuses an archive without launcher or engine", async () => {
    expect(
      await errorMessageOf(gzipSync(await packTar([{ header: { name: "play.sh", size: 1 }, body: "x" }]))),
    ).to.contain("engine");
    expect(
      await errorMessageOf(
        gzipSync(await packTar([{ header: { name: "engine/", type: "directory", size: 0 } }])),
      ),
    ).to.contain("play.sh");
  });

  it("refuses a bomb long before it is unpacked", async () => {
    const bomb = gzipSync(
      await packTar([{ header: { name: "zeros", size: 2 ** 27 }, body: Buffer.alloc(2 ** 27) }]),
    );
    expect(await errorMessageOf(bomb.subarray(0, -1000), 64 * 1024, bomb.length)).to.contain(
      "unpacks to more than 200 times its size",
    );
  });

  it("refuses a small bomb of unannounced size at its end", async () => {
    const bomb = gzipSync(
      await packTar([{ header: { name: "zeros", size: 2 ** 27 }, body: Buffer.alloc(2 ** 27) }]),
    );
    expect(await errorMessageOf(bomb, 64 * 1024)).to.contain("unpacks to more than 200 times its size");
  });

  it("accepts an archive that begins with a large file of zeros if the rest is large enough", async () => {
    const noise = randomBytes(2 ** 20);
    const archive = await anArchive(
      { header: { name: "engine/zeros", size: 2 ** 27 }, body: Buffer.alloc(2 ** 27) },
      { header: { name: "engine/noise", size: noise.length }, body: noise },
    );
    for (const packedTotal of [archive.length, undefined]) {
      expect(await inspect(archive, 64 * 1024, packedTotal)).to.include({
        entries: 5,
        unpackedBytes: 70_009 + 2 ** 27 + noise.length,
      });
    }
  });
});

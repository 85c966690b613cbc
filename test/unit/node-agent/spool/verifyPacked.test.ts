import { createHash } from "node:crypto";
import { appendFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { expect } from "chai";
import type { PackedSave } from "#contracts/spool.ts";
import { SpoolUnreadable } from "#node-agent/spool/readSpool.ts";
import { verifyPacked } from "#node-agent/spool/verifyPacked.ts";
import { anArchive, sha256Of } from "#test/support/fixtures/archives.ts";
import { temporaryFolder } from "#test/support/processes/temporaryFolder.ts";

describe("verifyPacked", () => {
  const { signal } = new AbortController();

  async function written(bytes: Buffer): Promise<string> {
    const path = join(temporaryFolder("packed"), "save.tar.gz");
    await writeFile(path, bytes);
    return path;
  }

  function saidOf(bytes: Buffer): PackedSave {
    return {
      sequence: 1,
      attempt: 1,
      sha256: sha256Of(bytes),
      bytes: bytes.length,
      entries: 4,
      files: 3,
      unpackedBytes: 12_288,
      packedAt: "2026-01-01T00:00:00Z",
    };
  }

  it("returns the verified bytes without bytes appended afterwards", async () => {
    const bytes = await anArchive();
    const path = await written(bytes);
    const pack = await verifyPacked(path, saidOf(bytes), signal);
    if (pack === undefined) throw new Error("There is no pack.");
    try {
      await appendFile(path, "GET / HTTP/1.1\r\n");
      expect(bytes.equals(await buffer(pack.read()))).to.equal(true);
      expect(pack).to.include({
        sizeBytes: bytes.length,
        md5: createHash("md5").update(bytes).digest("base64"),
      });
    } finally {
      await pack.close();
    }
  });

  it("refuses an empty pack", async () => {
    const path = await written(Buffer.alloc(0));
    const refused = await verifyPacked(path, saidOf(Buffer.alloc(0)), signal).catch(
      (error: unknown) => error,
    );
    expect(refused).to.be.instanceOf(SpoolUnreadable);
  });
});

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { spoolNames } from "#contracts/nodeLayout.ts";
import type { PackedSave } from "#contracts/spool.ts";
import { openSpool, type Spool } from "#packer/spool/spool.ts";

describe("openSpool", () => {
  let folder: string;
  let spool: Spool;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "joypod-spool-"));
    mkdirSync(`${folder}/${spoolNames.packed}`);
    spool = await openSpool(folder, "u");
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  function aPack(): PackedSave {
    const sequence = spool.nextSequence();
    writeFileSync(spool.draftPath(sequence), "");
    return {
      sequence,
      attempt: spool.attempt,
      sha256: "a".repeat(64),
      bytes: 0,
      entries: 0,
      files: 0,
      unpackedBytes: 0,
      packedAt: "2026-01-01T00:00:00.000Z",
    };
  }

  it("numbers packs consecutively", () => {
    spool.commit(aPack(), false);
    expect(spool.nextSequence()).to.equal(2);
  });

  it("never reuses a number, even if writing the manifest failed, because an agent may have read it", () => {
    mkdirSync(`${folder}/${spoolNames.manifest}.new/in the way`, { recursive: true });
    expect(() => spool.commit(aPack(), false)).to.throw();
    expect(spool.nextSequence()).to.equal(2);
  });
});

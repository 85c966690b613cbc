import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { spoolNames } from "#contracts/nodeLayout.ts";
import { createSavePacker, type SavePacker } from "#packer/pack/savePacker.ts";
import { openSpool, type Spool } from "#packer/spool/spool.ts";
import { silentLogger } from "#runtime/logger.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { temporaryFolder } from "#test/support/processes/temporaryFolder.ts";

const mebibyte = 2 ** 20;

describe("a pack of saves", () => {
  let saveDirectory: string;
  let spool: Spool;
  let packer: SavePacker;
  const { signal } = new AbortController();
  const write = (name: string, bytes: string | Buffer): void =>
    writeFileSync(join(saveDirectory, name), bytes);

  beforeEach(async () => {
    saveDirectory = temporaryFolder("saves");
    write("1", "before");
    write("2", randomBytes(64 * mebibyte));
    write("3", "before");
    const directory = temporaryFolder("spool");
    mkdirSync(join(directory, spoolNames.packed));
    spool = await openSpool(directory, "uid");
    packer = createSavePacker({ saveDirectory, spool, logger: silentLogger });
  });

  /** Packs, and writes to these files when the first of them is packed. */
  async function packWhileWriting(names: readonly string[]): Promise<"soon" | "later"> {
    const packing = packer.packIfChanged(signal);
    const draft = spool.draftPath(1);
    await eventually(() => existsSync(draft) && statSync(draft).size > 4 * mebibyte, {
      intervalMs: 1,
      what: "a pack that has the first file",
    });
    for (const name of names) write(name, "after");
    return packing;
  }

  it("never mixes files of two moments", async () => {
    expect(await packWhileWriting(["1", "3"])).to.equal("soon");
    expect(spool.save()).to.equal(undefined);
    expect(await packer.packIfChanged(signal)).to.equal("later");
    expect(spool.save()).to.include({ files: 3 });
  });

  it("is accepted if the game keeps writing to a single file, such as a log", async () => {
    expect(await packWhileWriting(["1"])).to.equal("later");
    expect(spool.save()).to.include({ sequence: 1, files: 3 });
  });
});

import { randomBytes } from "node:crypto";
import { mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { spoolNames } from "#contracts/nodeLayout.ts";
import { createSavePacker } from "#packer/pack/savePacker.ts";
import { openSpool } from "#packer/spool/spool.ts";
import { silentLogger } from "#runtime/logger.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { temporaryFolder } from "#test/support/processes/temporaryFolder.ts";

const mebibyte = 2 ** 20;

describe("a pack of saves", () => {
  it("is not made of files of two moments", async () => {
    const [saveDirectory, directory] = [temporaryFolder("saves"), temporaryFolder("spool")];
    const packed = join(directory, spoolNames.packed);
    mkdirSync(packed);
    const write = (name: string, bytes: string | Buffer): void => writeFileSync(join(saveDirectory, name), bytes);
    write("1", "before");
    write("2", randomBytes(64 * mebibyte));
    write("3", "before");
    const spool = await openSpool(directory, "uid");
    const packer = createSavePacker({ saveDirectory, spool, log: silentLogger });
    const { signal } = new AbortController();
    const packing = packer.packIfChanged(signal);
    await eventually(() => readdirSync(packed).some((name) => statSync(join(packed, name)).size > 4 * mebibyte), { intervalMs: 1, what: "a pack that has the first file" });
    for (const name of ["1", "3"]) write(name, "after");
    expect(await packing).to.equal("soon");
    expect(spool.save()).to.equal(undefined);
    expect(await packer.packIfChanged(signal)).to.equal("later");
    expect(spool.save()).to.include({ files: 3 });
  });
});

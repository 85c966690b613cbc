import { expect } from "chai";
import { limits } from "#contracts/limits.ts";
import { PackedSave } from "#contracts/spool.ts";
import { createLeftOut } from "#packer/save/skippedEntries.ts";
import { createTally } from "#packer/save/saveSize.ts";
import { Refusal } from "#packer/errors.ts";

describe("a save's tally", () => {
  it("takes as many names as a save may have, and no more", () => {
    const tally = createTally();
    for (let name = 0; name < limits.save.entries; name += 1) tally.addName();
    expect(() => tally.addName()).to.throw(Refusal).with.property("reason", "SaveTooLarge");
  });

  it("counts files in whole pages, up to what a save may hold", () => {
    const tally = createTally();
    for (const bytes of [0, 1, 4096, 4097]) tally.addFile(bytes);
    expect(tally.bytes()).to.equal(4 * 4096);
    tally.addFile(limits.save.unpackedBytes - 4 * 4096);
    expect(() => tally.addFile(1)).to.throw(Refusal).with.property("reason", "SaveTooLarge");
  });
});

describe("what a save leaves out", () => {
  it("is nothing at first, then a count and the first example, printable and short", () => {
    const leftOut = createLeftOut();
    expect(leftOut.summary()).to.equal(undefined);
    leftOut.add(`line\nfeed\u202e${"x".repeat(5000)}`, "is a symbolic link");
    leftOut.add("other", "is a symbolic link");
    const summary = PackedSave.shape.leftOut.parse(leftOut.summary());
    expect(summary?.count).to.equal(2);
    expect(summary?.example).to.match(/^"line\\nfeed\\u202ex+…x+" is a symbolic link$/).and.have.lengthOf.below(300);
  });
});

import { expect } from "chai";
import { limits } from "#contracts/limits.ts";
import { PackedSave } from "#contracts/spool.ts";
import { createSkippedEntries } from "#packer/save/skippedEntries.ts";
import { createSaveQuota } from "#packer/save/saveQuota.ts";
import { SaveError } from "#packer/errors.ts";

describe("a save's quota", () => {
  it("takes as many names as a save may have, and no more", () => {
    const quota = createSaveQuota();
    for (let name = 0; name < limits.save.entries; name += 1) quota.addName();
    expect(() => quota.addName()).to.throw(SaveError).with.property("reason", "SaveTooLarge");
  });

  it("counts files in whole pages, up to what a save may hold", () => {
    const quota = createSaveQuota();
    for (const bytes of [0, 1, 4096, 4097]) quota.addFile(bytes);
    expect(quota.bytes()).to.equal(4 * 4096);
    quota.addFile(limits.save.unpackedBytes - 4 * 4096);
    expect(() => quota.addFile(1)).to.throw(SaveError).with.property("reason", "SaveTooLarge");
  });
});

describe("what a save leaves out", () => {
  it("is nothing at first, then a count and the first example, printable and short", () => {
    const leftOut = createSkippedEntries();
    expect(leftOut.summary()).to.equal(undefined);
    leftOut.add(`line\nfeed\u202e${"x".repeat(5000)}`, "is a symbolic link");
    leftOut.add("other", "is a symbolic link");
    const summary = PackedSave.shape.leftOut.parse(leftOut.summary());
    expect(summary?.count).to.equal(2);
    expect(summary?.example).to.match(/^"line\\nfeed\\u202ex+…x+" is a symbolic link$/).and.have.lengthOf.below(300);
  });
});

import { expect } from "chai";
import { limits } from "#contracts/limits.ts";
import { PackedSave } from "#contracts/spool.ts";
import { createSkippedEntries } from "#packer/save/walk.ts";
import { createSaveQuota } from "#packer/save/saveQuota.ts";
import { SaveError } from "#packer/errors.ts";

describe("createSaveQuota", () => {
  it("accepts the maximum number of names and throws at the next one", () => {
    const quota = createSaveQuota();
    for (let name = 0; name < limits.save.entries; name += 1) quota.addName();
    expect(() => quota.addName())
      .to.throw(SaveError)
      .with.property("reason", "SaveTooLarge");
  });

  it("counts files in whole pages and throws above the maximum size", () => {
    const quota = createSaveQuota();
    for (const bytes of [0, 1, 4096, 4097]) quota.addFile(bytes);
    expect(quota.bytes()).to.equal(4 * 4096);
    quota.addFile(limits.save.unpackedBytes - 4 * 4096);
    expect(() => quota.addFile(1))
      .to.throw(SaveError)
      .with.property("reason", "SaveTooLarge");
  });
});

describe("createSkippedEntries", () => {
  it("returns a count and the first entry as a short printable example, undefined without entries", () => {
    const skipped = createSkippedEntries();
    expect(skipped.summary()).to.equal(undefined);
    skipped.add(`line\nfeed\u202e${"x".repeat(5000)}`, "is a symbolic link");
    skipped.add("other", "is a symbolic link");
    const summary = PackedSave.shape.leftOut.parse(skipped.summary());
    expect(summary?.count).to.equal(2);
    expect(summary?.example)
      .to.match(/^"line\\nfeed\\u202ex+…x+" is a symbolic link$/)
      .and.have.lengthOf.below(300);
  });
});

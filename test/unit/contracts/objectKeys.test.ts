import { expect } from "chai";
import fc from "fast-check";
import { parseSaveKey, saveKey } from "#contracts/objectKeys.ts";

describe("saveKey", () => {
  const name = fc.record({
    generation: fc.integer({ min: 1, max: 999_999_999 }),
    gameSession: fc.stringMatching(/^gs-(net-)?[0-9a-z]{20}$/),
    sequence: fc.integer({ min: 1, max: 999_999_999 }),
    attempt: fc.integer({ min: 0, max: 999_999_999 }),
  });

  it("gives different keys to packer runs with the same sequence", () => {
    const save = { generation: 1, gameSession: "gs-a", sequence: 7 };
    expect(saveKey("slot", { ...save, attempt: 1 })).to.equal("saves/slot/1-gs-a-7.1.tar.gz");
    expect(saveKey("slot", { ...save, attempt: 2 })).to.equal("saves/slot/1-gs-a-7.2.tar.gz");
  });

  it("contains all its parts", () => {
    fc.assert(
      fc.property(name, (save) => {
        expect(parseSaveKey(saveKey("slot", save))).to.deep.equal(save);
      }),
    );
  });

  it("is distinguishable from other keys", () => {
    for (const key of [
      "saves/slot/notes.txt",
      "saves/slot/1-gs-a.tar.gz",
      "archives/slot/1-gs-a-1.tar.gz",
      "saves/slot/more/1-gs-a-1.tar.gz",
    ]) {
      expect(parseSaveKey(key), key).to.be.undefined;
    }
  });
});

import { expect } from "chai";
import { SharedStrings } from "#kube/client/sharedStrings.ts";

describe("SharedStrings", () => {
  it("returns equal strings for any number of strings", () => {
    const strings = new SharedStrings();
    const texts = Array.from({ length: 5_000 }, (_, index) => `text ${index % 3_000}`);
    expect(texts.map((text) => strings.share(text))).to.deep.equal(texts);
  });
});

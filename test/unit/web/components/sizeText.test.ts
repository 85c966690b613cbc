import { expect } from "chai";
import { sizeText } from "#web/components/sizeText.ts";

describe("sizeText", () => {
  it("writes sizes as people do", () => {
    expect([0, 1, 1024, 1025, 47_300].map(sizeText)).to.deep.equal(["0 KB", "1 KB", "1 KB", "2 KB", "47 KB"]);
    expect([2 ** 20, 1.25 * 2 ** 20, 16 * 2 ** 20, 2 ** 30].map(sizeText)).to.deep.equal([
      "1 MB",
      "1.3 MB",
      "16 MB",
      "1024 MB",
    ]);
  });
});

import { expect } from "chai";
import { backOffMs } from "#web/stream/backOff.ts";

describe("backOffMs", () => {
  it("doubles from half a second to eight seconds, of which at least half remain", () => {
    expect([0, 1, 2, 3, 4, 5, 50].map((attempt) => backOffMs(attempt, () => 1))).to.deep.equal([
      500, 1_000, 2_000, 4_000, 8_000, 8_000, 8_000,
    ]);
    expect(backOffMs(3, () => 0)).to.equal(2_000);
  });
});

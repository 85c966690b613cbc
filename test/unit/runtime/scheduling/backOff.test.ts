import { expect } from "chai";
import { jittered } from "#runtime/scheduling/backOff.ts";

describe("jittered", () => {
  for (const [share, least, most] of [
    [undefined, 500, 1500],
    [0.25, 750, 1250],
    [0.1, 900, 1100],
  ] as const) {
    it(`varies by up to ${share ?? "half"} of the time`, () => {
      expect(jittered(1000, () => 0, share)).to.equal(least);
      expect(jittered(1000, () => 0.5, share)).to.equal(1000);
      expect(jittered(1000, () => 1, share)).to.be.closeTo(most, 1e-9);
    });
  }
});

import { expect } from "chai";
import { nextScanDelayMs } from "#packer/scanInterval.ts";

const pauseAfter = (tookMs: number, isSoon = false): number => nextScanDelayMs({ spoolMs: 10_000, tookMs, isSoon });

describe("the pause between two looks at a save", () => {
  it("leaves time to pack what changed right after a look, as long as that can be in time", () => {
    for (const tookMs of [0, 100, 3000, 5000]) expect(pauseAfter(tookMs) + tookMs).to.be.at.most(10_000).and.at.least(2000);
  });

  it("is longer than a long pack took, up to a bound", () => {
    expect(pauseAfter(20_000)).to.equal(38_000);
    expect(pauseAfter(600_000)).to.equal(60_000);
  });

  it("is short when a file changed while it was read: three more tries are in time as well", () => {
    expect(pauseAfter(1000) + 3 * pauseAfter(1000, true) + 4 * 1000).to.be.at.most(10_000);
  });
});

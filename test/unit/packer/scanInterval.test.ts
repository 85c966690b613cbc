import { expect } from "chai";
import { nextScanDelayMs } from "#packer/scanInterval.ts";

const delayAfter = (tookMs: number, isSoon = false): number =>
  nextScanDelayMs({ spoolMs: 10_000, tookMs, isSoon });

describe("nextScanDelayMs", () => {
  it("leaves time to pack a change that follows a scan, as long as the pack takes at most half of the promised time", () => {
    for (const tookMs of [0, 100, 3000, 5000])
      expect(delayAfter(tookMs) + tookMs)
        .to.be.at.most(10_000)
        .and.at.least(2000);
  });

  it("exceeds the duration of a long pack, up to a maximum", () => {
    expect(delayAfter(20_000)).to.equal(38_000);
    expect(delayAfter(600_000)).to.equal(60_000);
  });

  it("is short after a file changed while it was read, so that three more attempts are in time", () => {
    expect(delayAfter(1000) + 3 * delayAfter(1000, true) + 4 * 1000).to.be.at.most(10_000);
  });
});

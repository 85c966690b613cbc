import { expect } from "chai";
import { limits } from "#contracts/limits.ts";
import { repeatPauseMs } from "#web/client/request.ts";

describe("repeatPauseMs", () => {
  const middle = (): number => 0.5;

  it("asks soon after the response was lost, and more and more rarely for as long as the API works on the request", () => {
    expect([0, 2_000, 6_000, 20_000, 600_000].map((waitedMs) => repeatPauseMs(waitedMs, middle))).to.deep.equal([1_000, 1_000, 3_000, 10_000, 10_000]);
  });

  it("leaves a part of a minute's changes of saves to what the player does besides, however the random parts fall", () => {
    let repeats = 0;
    for (let waitedMs = 0; waitedMs < 60_000; waitedMs += repeatPauseMs(waitedMs, () => 0)) repeats += 1;
    expect(repeats).to.be.below(limits.save.changesPerMinute * 2 / 3);
  });
});

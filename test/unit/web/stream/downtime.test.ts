import { expect } from "chai";
import { Downtime } from "#web/stream/downtime.ts";

describe("Downtime", () => {
  let nowMs: number;
  let downtime: Downtime;

  beforeEach(() => {
    nowMs = 5_000;
    downtime = new Downtime(() => nowMs);
  });

  function tryFor(ms: number): number {
    nowMs += ms;
    return downtime.afterTry();
  }

  it("adds up attempts of any duration", () => {
    expect([tryFor(500), tryFor(61_000), tryFor(61_000)]).to.deep.equal([500, 61_500, 122_500]);
  });

  it("starts over after the stream was up", () => {
    tryFor(60_000);
    nowMs += 600_000;
    downtime.restart();
    expect([downtime.afterTry(), tryFor(8_000)]).to.deep.equal([0, 8_000]);
  });

  it("ignores time during which the page was suspended", () => {
    tryFor(60_000);
    expect([tryFor(600_000), tryFor(8_000)]).to.deep.equal([0, 8_000]);
  });
});

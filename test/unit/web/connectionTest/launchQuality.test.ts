import { expect } from "chai";
import { launchQualityFrom } from "#web/connectionTest/launchQuality.ts";
import { isCurrent } from "#web/connectionTest/storedResult.ts";
import type { PathFigures, TestResult } from "#web/connectionTest/testResult.ts";

const now = Date.parse("2030-01-01T12:00:00Z");

function aResult(figures: Partial<PathFigures> = {}): TestResult {
  return {
    testedAt: "2030-01-01T00:00:00Z",
    network: "wifi",
    relay: { state: "absent" },
    decoders: [{ codec: "h264", isHardware: null }],
    direct: { state: "works", figures: { roundTripMs: 20, loss: 0, bandwidthKbps: 6_000, ...figures } },
  };
}

describe("launchQualityFrom", () => {
  it("starts with a share of the bandwidth, within bounds", () => {
    expect(launchQualityFrom(aResult())).to.deep.equal({ startKbps: 3_600 });
    expect(launchQualityFrom(aResult({ bandwidthKbps: 50_000 }))).to.deep.equal({ startKbps: 8_000 });
    expect(launchQualityFrom(aResult({ bandwidthKbps: 100 }))).to.deep.equal({ startKbps: 300 });
  });

  it("starts lower where packets get lost", () => {
    expect(launchQualityFrom(aResult({ loss: 0.05 }))).to.deep.equal({ startKbps: 1_800 });
  });

  it("takes the relay's figures where that is the way, and says nothing without any", () => {
    const { direct, ...rest } = aResult({ bandwidthKbps: 3_000 });
    expect(launchQualityFrom({ ...rest, direct: { state: "blocked" }, relay: direct })).to.deep.equal({
      startKbps: 1_800,
    });
    expect(launchQualityFrom({ ...rest, direct: { state: "blocked" } })).to.deep.equal({});
    expect(launchQualityFrom(undefined)).to.deep.equal({});
  });
});

describe("a stored result", () => {
  it("counts for a day, on the network that it is of", () => {
    expect(isCurrent(aResult(), now, "wifi")).to.equal(true);
    expect(isCurrent(aResult(), now, "cellular")).to.equal(false);
    expect(isCurrent(aResult(), now + 13 * 3_600_000, "wifi"), "the next day").to.equal(false);
    expect(isCurrent(aResult(), now - 13 * 3_600_000, "wifi"), "of a clock that was set back").to.equal(
      false,
    );
    expect(isCurrent({ ...aResult(), testedAt: "some day" }, now, "wifi")).to.equal(false);
  });
});

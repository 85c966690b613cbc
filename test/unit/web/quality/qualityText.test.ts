import { expect } from "chai";
import {
  describeNextSize,
  listFrameRates,
  listSizes,
  describePresets,
  describeQuality,
} from "#web/quality/qualityText.ts";

const maximum = { width: 1_280, height: 720, fps: 60, maxKbps: 8_000 };

describe("quality texts", () => {
  it("state the cap of data saver in MB per hour, within the maximum", () => {
    const saverOf = (maxKbps: number) =>
      describePresets({ ...maximum, maxKbps }).find(({ preset }) => preset === "dataSaver")?.about;
    expect(saverOf(8_000)).to.contain("at most 780 MB per hour");
    expect(saverOf(800)).to.contain("at most 450 MB per hour");
  });

  it("describe a quality in one line", () => {
    expect(
      describeQuality({ preset: "dataSaver", width: 854, height: 480, fps: 30, maxKbps: 1_500 }),
    ).to.equal("Data saver: 854 × 480, up to 30 frames per second, at most 780 MB per hour");
  });

  it("state the size of the next game if it exceeds the display of this session", () => {
    const site = { ...maximum, width: 1_920, height: 1_080 };
    const next = "The picture size of this game cannot change. Your next game starts with up to";
    expect(describeNextSize({ preset: "sharp" }, maximum, site)).to.equal(`${next} 1920 × 1080.`);
    expect(describeNextSize({ preset: "auto", width: 1_600, height: 900 }, maximum, site)).to.equal(
      `${next} 1600 × 900.`,
    );
    expect(describeNextSize({ preset: "sharp", width: 640, height: 360 }, maximum, site)).to.equal(undefined);
    expect(describeNextSize({ preset: "lowLatency" }, maximum, site)).to.equal(undefined);
    expect(describeNextSize({}, maximum, site)).to.equal(undefined);
    expect(describeNextSize({ preset: "sharp" }, site, site)).to.equal(undefined);
  });

  it("offer sizes and rates up to and including the maximum", () => {
    expect(listSizes(maximum).map(({ width }) => width)).to.deep.equal([640, 854, 1_280]);
    expect(listSizes({ ...maximum, width: 1_000, height: 1_000 })).to.deep.include({
      width: 1_000,
      height: 1_000,
    });
    expect(listFrameRates(maximum)).to.deep.equal([30, 60]);
    expect(listFrameRates({ ...maximum, fps: 144 })).to.deep.equal([30, 60, 90, 120, 144]);
  });
});

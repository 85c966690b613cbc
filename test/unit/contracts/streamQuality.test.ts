import { expect } from "chai";
import {
  LaunchQuality,
  megabytesPerHour,
  qualityWithin,
  sessionBounds,
  type SiteBounds,
} from "#contracts/streamQuality.ts";
import { StreamInput } from "#contracts/stream.ts";

const bounds = { width: 1_920, height: 1_080, fps: 60, maxFps: 120, maxKbps: 20_000 };
const site: SiteBounds = {
  width: 1_280,
  height: 720,
  fps: 60,
  maxWidth: 1_920,
  maxHeight: 1_080,
  maxFps: 120,
  maxKbps: 20_000,
};

describe("qualityWithin", () => {
  it("gives each preset its size, rate and cap", () => {
    const whole = { width: 1_920, height: 1_080, maxKbps: 20_000 };
    expect(qualityWithin({}, bounds)).to.deep.equal({ preset: "auto", ...whole, fps: 60 });
    expect(qualityWithin({ preset: "lowLatency" }, bounds)).to.deep.equal({
      preset: "lowLatency",
      ...whole,
      fps: 120,
    });
    expect(qualityWithin({ preset: "sharp" }, bounds)).to.deep.equal({ preset: "sharp", ...whole, fps: 60 });
    expect(qualityWithin({ preset: "dataSaver" }, bounds)).to.deep.equal({
      preset: "dataSaver",
      width: 854,
      height: 480,
      fps: 30,
      maxKbps: 1_500,
    });
  });

  it("overrides preset values with requested ones, up to the limits", () => {
    expect(qualityWithin({ preset: "dataSaver", fps: 60, maxKbps: 3_000 }, bounds)).to.include({
      width: 854,
      fps: 60,
      maxKbps: 3_000,
    });
    expect(
      qualityWithin({ width: 3_840, height: 2_160, fps: 120, maxKbps: 100_000 }, { ...bounds, maxFps: 60 }),
    ).to.deep.equal({ preset: "auto", width: 1_920, height: 1_080, fps: 60, maxKbps: 20_000 });
    expect(
      qualityWithin({ preset: "dataSaver" }, { ...bounds, fps: 24, maxFps: 24, maxKbps: 1_000 }),
    ).to.include({ fps: 24, maxKbps: 1_000 });
  });

  it("keeps the display's aspect ratio within the requested size, with even sides", () => {
    expect(qualityWithin({ width: 1_000, height: 1_000 }, bounds)).to.include({ width: 1_000, height: 562 });
    expect(qualityWithin({ width: 854, height: 480 }, { ...bounds, width: 1_024, height: 768 })).to.include({
      width: 640,
      height: 480,
    });
    expect(qualityWithin({ width: 320, height: 240 }, { ...bounds, width: 3_840, height: 240 })).to.include({
      width: 320,
      height: 90,
    });
  });
});

describe("sessionBounds", () => {
  const display = (wish: Parameters<typeof sessionBounds>[0]) => {
    const { width, height } = sessionBounds(wish, site);
    return `${width}x${height}`;
  };

  it("returns the site's display size, or a larger one if it is requested", () => {
    expect([
      display({}),
      display({ preset: "auto" }),
      display({ preset: "lowLatency" }),
      display({ preset: "dataSaver" }),
      display({ width: 640, height: 480 }),
    ]).to.deep.equal(Array(5).fill("1280x720"));
    expect(display({ preset: "sharp" })).to.equal("1920x1080");
    expect(display({ preset: "sharp", width: 1_280, height: 720 })).to.equal("1280x720");
    expect(display({ width: 1_600, height: 900 })).to.equal("1600x900");
    expect(display({ width: 3_840, height: 2_160 })).to.equal("1920x1080");
    expect(display({ width: 3_840, height: 240 })).to.equal("1920x240");
  });
});

describe("a quality request", () => {
  it("is rejected if it is out of range, has only one side, or has an unknown field in a launch", () => {
    const paths = (wish: object) =>
      LaunchQuality.safeParse(wish).error?.issues.map(({ path }) => path.join("."));
    expect(paths({ preset: "best" })).to.deep.equal(["preset"]);
    expect(paths({ fps: 5, maxKbps: 1, startKbps: 1e6 })).to.deep.equal(["fps", "maxKbps", "startKbps"]);
    expect(paths({ width: 1_280 })).to.deep.equal(["height"]);
    expect(LaunchQuality.safeParse({ bitrate: 1 }).success).to.equal(false);
    expect(StreamInput.safeParse({ t: "quality", fps: 5 }).success).to.equal(false);
    expect(
      StreamInput.safeParse({
        t: "quality",
        preset: "sharp",
        width: 1_280,
        height: 720,
        fps: 60,
        maxKbps: 8_000,
      }).success,
    ).to.equal(true);
  });
});

describe("megabytesPerHour", () => {
  it("includes video, sound and headers, and rounds up", () => {
    expect(megabytesPerHour(1_500)).to.equal(780);
    expect(megabytesPerHour(8_000)).to.equal(3_850);
  });
});

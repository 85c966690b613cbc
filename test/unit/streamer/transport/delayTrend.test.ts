import { expect } from "chai";
import { createDelayTrend } from "#streamer/transport/delayTrend.ts";

const pictureMs = 1_000 / 60;
const basePathMs = 1_000_000; // the browser's clock is another one

/** Pictures of a few packets, each later than the one before by so much; returns how long it took until the trend rose. */
function picturesUntilRise(delayOf: (picture: number) => number, pictures = 120): number | undefined {
  const trend = createDelayTrend(() => pictureMs);
  for (let picture = 0; picture < pictures; picture++) {
    const sentAtMs = picture * pictureMs;
    for (let packet = 0; packet < 4; packet++) trend.add({ sentAtMs, arrivedAtMs: sentAtMs + basePathMs + delayOf(picture) + packet * 0.5 });
    if (trend.isRising()) return picture;
  }
  return undefined;
}

describe("createDelayTrend", () => {
  it("rises within three pictures of a path that became far too narrow", () => {
    expect(picturesUntilRise((picture) => Math.max(0, picture - 60) * 50)).to.be.within(61, 63);
  });

  it("rises within half a second of a path a tenth too narrow", () => {
    expect(picturesUntilRise((picture) => Math.max(0, picture - 60) * pictureMs * 0.1)).to.be.within(61, 90);
  });

  it("does not rise with a constant delay, a shrinking one, or the jitter of a busy machine", () => {
    expect(picturesUntilRise(() => 80)).to.equal(undefined);
    expect(picturesUntilRise((picture) => Math.max(0, 300 - picture * 4))).to.equal(undefined);
    expect(picturesUntilRise((picture) => picture * 7_919 % 13)).to.equal(undefined);
  });

  it("does not rise when a single picture is held up", () => {
    expect(picturesUntilRise((picture) => (picture === 60 ? 60 : 0))).to.equal(undefined);
  });
});

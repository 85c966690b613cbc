import { expect } from "chai";
import { createDelayTrend } from "#streamer/transport/delayTrend.ts";

const pictureMs = 1_000 / 60;
const basePathMs = 1_000_000; // the browser has another clock

/**
 * Feeds pictures of `packets` packets, each delayed more than the one before. Returns how long it took until
 * the trend rose.
 */
function picturesUntilRise(
  delayOf: (picture: number, packet: number) => number,
  packets = 4,
  pictures = 120,
): number | undefined {
  const trend = createDelayTrend(() => pictureMs);
  for (let picture = 0; picture < pictures; picture++) {
    const sentAtMs = picture * pictureMs;
    for (let packet = 0; packet < packets; packet++) {
      trend.add({ sentAtMs, arrivedAtMs: sentAtMs + basePathMs + delayOf(picture, packet) + packet * 0.5 });
      if (trend.isRising()) return picture + packet / packets;
    }
  }
  return undefined;
}

describe("createDelayTrend", () => {
  it("rises within three pictures of a path that became far too narrow", () => {
    expect(picturesUntilRise((picture) => Math.max(0, picture - 60) * 50)).to.be.within(61, 63);
  });

  it("rises with the first packet after a picture that such a path delivered slowly", () => {
    // Ten packets that take 65 ms and delay the next picture, 50 ms more than the last one did.
    const queueOf = (picture: number, packet: number) =>
      picture < 60 ? 0 : (picture - 60) * (65 - pictureMs) + packet * 6;
    expect(picturesUntilRise(queueOf, 10)).to.equal(61);
  });

  it("rises within half a second of a path a tenth too narrow", () => {
    expect(picturesUntilRise((picture) => Math.max(0, picture - 60) * pictureMs * 0.1)).to.be.within(61, 90);
  });

  it("does not rise with a constant delay, a shrinking one, or the jitter of a busy machine", () => {
    expect(picturesUntilRise(() => 80)).to.equal(undefined);
    expect(picturesUntilRise((picture) => Math.max(0, 300 - picture * 4))).to.equal(undefined);
    expect(picturesUntilRise((picture) => (picture * 7_919) % 13)).to.equal(undefined);
  });

  it("does not rise when a single picture is delayed", () => {
    expect(picturesUntilRise((picture) => (picture === 60 ? 60 : 0))).to.equal(undefined);
    expect(picturesUntilRise((picture, packet) => (picture === 60 && packet > 4 ? 60 : 0), 10)).to.equal(
      undefined,
    );
  });

  it("does not rise when one large picture takes long without delaying others", () => {
    expect(picturesUntilRise((picture, packet) => (picture === 60 ? packet * 6 : 0), 10)).to.equal(undefined);
  });
});

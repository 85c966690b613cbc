import { expect } from "chai";
import { StreamMeter, type StreamReading } from "#streamer/termination/streamMeter.ts";
import { FakeClock } from "#test/support/clocks/fakeClock.ts";

describe("StreamMeter", () => {
  const reading: StreamReading = {
    isViewed: true,
    frames: 0,
    videoBytes: 0,
    loss: 0,
    width: 1280,
    height: 720,
    firstPictureMs: undefined,
  };

  it("averages over the time with a connected browser", async () => {
    const clock = new FakeClock();
    const meter = new StreamMeter(clock);
    const sampleAfter = async (ms: number, changes: Partial<StreamReading>): Promise<void> => {
      await clock.advance(ms);
      meter.sample({ ...reading, ...changes });
    };
    await sampleAfter(5000, { isViewed: false });
    const firstPictureMs = clock.monotonicMs();
    const firstPictureAt = clock.now().toISOString();
    await sampleAfter(1000, { frames: 60, videoBytes: 1_000_000, loss: 0.2, firstPictureMs });
    await sampleAfter(3000, { frames: 120, videoBytes: 2_000_000, firstPictureMs });
    await sampleAfter(9000, {
      isViewed: false,
      frames: 130,
      videoBytes: 2_000_001,
      width: 640,
      firstPictureMs,
    });
    expect(meter.measurement()).to.deep.equal({
      firstPictureAt,
      viewedSeconds: 4,
      averageFps: 30,
      averageKbps: 4000,
      averageLoss: 0.05,
      width: 1280,
      height: 720,
    });
  });

  it("has no result for a stream that was never viewed", async () => {
    const clock = new FakeClock();
    const meter = new StreamMeter(clock);
    await clock.advance(1000);
    meter.sample({ ...reading, isViewed: false });
    expect(meter.measurement()).to.equal(undefined);
  });
});

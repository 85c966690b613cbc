import { expect } from "chai";
import type { StreamQuality } from "#contracts/streamQuality.ts";
import { createQualityControl } from "#streamer/transport/qualityControl.ts";

const bounds = { width: 1_280, height: 720, fps: 60, maxFps: 60, maxKbps: 8_000 };
const initial: StreamQuality = { preset: "auto", width: 1_280, height: 720, fps: 60, maxKbps: 8_000 };

describe("createQualityControl", () => {
  let now: number;
  let timers: { at: number; callback: () => void }[];
  let applied: { quality: StreamQuality; finish: (isApplied: boolean) => void }[];
  let settled: StreamQuality[];

  beforeEach(() => {
    now = 0;
    timers = [];
    applied = [];
    settled = [];
  });

  function create() {
    return createQualityControl({
      bounds,
      initial,
      apply: (quality) => new Promise((finish) => applied.push({ quality, finish })),
      onSettled: (quality) => settled.push(quality),
      clock: {
        monotonicMs: () => now,
        setTimer: (ms, callback) => {
          const timer = { at: now + ms, callback };
          timers.push(timer);
          return {
            cancel: () => {
              timers = timers.filter((other) => other !== timer);
            },
          };
        },
      },
    });
  }
  const finish = async (isApplied = true) => {
    applied.at(-1)?.finish(isApplied);
    await new Promise((resolve) => setImmediate(resolve));
  };
  const passTo = (at: number) => {
    now = at;
    const due = timers.filter((timer) => timer.at <= now);
    timers = timers.filter((timer) => timer.at > now);
    for (const { callback } of due) callback();
  };

  it("applies a request immediately and reports the result", async () => {
    const control = create();
    control.request({ preset: "dataSaver" });
    expect(control.current()).to.deep.equal(initial);
    await finish();
    expect(control.current()).to.include({ preset: "dataSaver", width: 854 });
    expect(settled).to.deep.equal([control.current()]);
  });

  it("changes at most once a second, and the last request wins", async () => {
    const control = create();
    control.request({ fps: 20 });
    control.request({ fps: 25 });
    await finish();
    control.request({ fps: 30 });
    expect(applied).to.have.lengthOf(1);
    passTo(999);
    expect(applied).to.have.lengthOf(1);
    passTo(1_000);
    expect(applied.map(({ quality }) => quality.fps)).to.deep.equal([20, 30]);
    await finish();
    expect(settled.map(({ fps }) => fps)).to.deep.equal([20, 30]);
  });

  it("waits for a change that takes longer than a second", async () => {
    const control = create();
    control.request({ fps: 20 });
    passTo(3_000);
    control.request({ fps: 30 });
    expect(applied).to.have.lengthOf(1);
    await finish();
    expect(applied).to.have.lengthOf(2);
  });

  it("keeps and reports the old quality when a change fails, and accepts the next request", async () => {
    const control = create();
    control.request({ preset: "sharp" });
    await finish(false);
    expect(settled).to.deep.equal([initial]);
    passTo(1_000);
    control.request({ fps: 30 });
    await finish();
    expect(control.current()).to.include({ preset: "auto", fps: 30 });
  });

  it("does nothing after it is closed", async () => {
    const control = create();
    control.request({ fps: 20 });
    await finish();
    control.request({ fps: 30 });
    control.close();
    passTo(5_000);
    expect(applied).to.have.lengthOf(1);
  });
});

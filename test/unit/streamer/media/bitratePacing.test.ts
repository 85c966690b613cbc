import { expect } from "chai";
import { createBitratePacing, type BitratePacing } from "#streamer/media/bitratePacing.ts";
import { FakeClock } from "#test/support/clocks/fakeClock.ts";

describe("createBitratePacing", () => {
  let clock: FakeClock;
  let set: number[];
  let pacing: BitratePacing;

  beforeEach(() => {
    clock = new FakeClock();
    set = [];
    pacing = createBitratePacing({
      set: (kbps) => void set.push(kbps),
      clock,
    });
    pacing.begin(4_000);
  });

  it("sets each lower bitrate immediately and skips unchanged ones", () => {
    for (const kbps of [4_000, 3_900, 3_900, 1_000]) pacing.request(kbps);
    expect(set).to.deep.equal([3_900, 1_000]);
  });

  it("sets a growing bitrate at most every two seconds, and finally the last one", async () => {
    for (let kbps = 4_100; kbps <= 8_100; kbps += 100) {
      pacing.request(kbps);
      await clock.advance(100);
    }
    expect(set).to.deep.equal([6_000, 8_000]);
    await clock.advance(10_000);
    expect(set).to.deep.equal([6_000, 8_000, 8_100]);
    expect(clock.pendingTimers).to.equal(0);
  });

  it("sets a slightly higher bitrate after ten seconds, unless a lower one arrives first", async () => {
    pacing.request(4_700);
    await clock.advance(9_999);
    expect(set).to.deep.equal([]);
    await clock.advance(1);
    expect(set).to.deep.equal([4_700]);
    pacing.request(5_000);
    pacing.request(4_600);
    await clock.advance(60_000);
    expect(set).to.deep.equal([4_700, 4_600]);
  });

  it("sets a much higher bitrate immediately if the last rise was long ago, and drops the pending one", async () => {
    await clock.advance(2_000);
    pacing.request(4_400);
    pacing.request(4_800);
    await clock.advance(60_000);
    expect(set).to.deep.equal([4_800]);
  });

  it("counts a bitrate set together with a due key frame as the last rise", async () => {
    await clock.advance(60_000);
    pacing.begin(2_000);
    pacing.request(8_000);
    expect(set).to.deep.equal([]);
    await clock.advance(2_000);
    expect(set).to.deep.equal([8_000]);
  });

  it("drops a pending bitrate when it is stopped or restarted", async () => {
    pacing.request(8_000);
    pacing.begin(3_000);
    pacing.request(6_000);
    pacing.stop();
    expect(clock.pendingTimers).to.equal(0);
    await clock.advance(60_000);
    expect(set).to.deep.equal([]);
  });
});

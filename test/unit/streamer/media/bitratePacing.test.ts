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

  it("sets each lower bitrate at once, and none that holds already", () => {
    for (const kbps of [4_000, 3_900, 3_900, 1_000]) pacing.request(kbps);
    expect(set).to.deep.equal([3_900, 1_000]);
  });

  it("sets a bitrate that grows every two seconds at most, and the last one in the end", async () => {
    for (let kbps = 4_100; kbps <= 8_100; kbps += 100) {
      pacing.request(kbps);
      await clock.advance(100);
    }
    expect(set).to.deep.equal([6_000, 8_000]);
    await clock.advance(10_000);
    expect(set).to.deep.equal([6_000, 8_000, 8_100]);
    expect(clock.pendingTimers).to.equal(0);
  });

  it("sets a bitrate that is hardly higher after ten seconds, and not at all when a lower one comes before", async () => {
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

  it("sets a much higher bitrate at once when the last rise is long ago, and after what waited none of that", async () => {
    await clock.advance(2_000);
    pacing.request(4_400);
    pacing.request(4_800);
    await clock.advance(60_000);
    expect(set).to.deep.equal([4_800]);
  });

  it("counts a bitrate that a key frame was to come with as the last rise", async () => {
    await clock.advance(60_000);
    pacing.begin(2_000);
    pacing.request(8_000);
    expect(set).to.deep.equal([]);
    await clock.advance(2_000);
    expect(set).to.deep.equal([8_000]);
  });

  it("sets nothing that waits once it is stopped, or begins again", async () => {
    pacing.request(8_000);
    pacing.begin(3_000);
    pacing.request(6_000);
    pacing.stop();
    expect(clock.pendingTimers).to.equal(0);
    await clock.advance(60_000);
    expect(set).to.deep.equal([]);
  });
});

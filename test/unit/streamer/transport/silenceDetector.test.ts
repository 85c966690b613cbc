import { expect } from "chai";
import { createSilenceDetector, type SilenceDetector } from "#streamer/transport/silenceDetector.ts";
import { FakeClock } from "#test/support/clocks/fakeClock.ts";

const afterMs = 4_000;
const beforeStartMs = 10_000;

describe("createSilenceDetector", () => {
  let clock: FakeClock;
  let silentAt: number[];
  let detector: SilenceDetector;

  beforeEach(() => {
    clock = new FakeClock();
    silentAt = [];
    detector = createSilenceDetector({
      afterMs,
      beforeStartMs,
      clock,
      onSilent: () => silentAt.push(clock.monotonicMs()),
    });
  });

  it("reports a silence once, within a second after its time", async () => {
    detector.start();
    for (const heardMs of [1_000, 1, 998, 500]) {
      silentAt = [];
      await clock.advance(heardMs);
      detector.noteHeard();
      const heardAt = clock.monotonicMs();
      expect(detector.isSilent()).to.equal(false);
      await clock.advance(afterMs);
      expect(detector.isSilent()).to.equal(true);
      await clock.advance(60_000);
      expect(silentAt).to.have.length(1);
      expect(silentAt[0]).to.be.within(heardAt + afterMs, heardAt + afterMs + 1_000);
    }
  });

  it("reports the next silence after a packet, and none while packets arrive", async () => {
    detector.start();
    await clock.advance(10_000);
    expect(silentAt).to.have.length(1);
    for (let packet = 0; packet < 100; packet++) {
      detector.noteHeard();
      await clock.advance(900);
    }
    expect(silentAt).to.have.length(1);
    await clock.advance(10_000);
    expect(silentAt).to.have.length(2);
  });

  it("reports nothing for a browser that need not report, which counts as silent later", async () => {
    await clock.advance(beforeStartMs - 1);
    expect(detector.isSilent()).to.equal(false);
    await clock.advance(1);
    expect(detector.isSilent()).to.equal(true);
    await clock.advance(60_000);
    expect(silentAt).to.deep.equal([]);
    expect(detector.isSilent()).to.equal(true);
    expect(clock.pendingTimers).to.equal(0);
  });

  it("does not mistake a pause of the streamer for a silence", () => {
    let now = 0;
    const due: (() => void)[] = [];
    const stalled = createSilenceDetector({
      afterMs,
      beforeStartMs,
      clock: {
        monotonicMs: () => now,
        setTimer: (_ms, callback) => {
          due.push(callback);
          return { cancel: () => undefined };
        },
      },
      onSilent: () => expect.fail("What came meanwhile was yet to be read."),
    });
    stalled.start();
    now = 60_000; // A timer that is this late fires once, before arrived packets are read.
    due.shift()?.();
    stalled.noteHeard();
    for (let check = 0; check < 4; check++) due.shift()?.();
  });

  it("has one timer however often it is started, and none after it is stopped", async () => {
    detector.start();
    detector.start();
    expect(clock.pendingTimers).to.equal(1);
    await clock.advance(2_500);
    expect(clock.pendingTimers).to.equal(1);
    detector.stop();
    detector.start();
    expect(clock.pendingTimers).to.equal(0);
    await clock.advance(60_000);
    expect(silentAt).to.deep.equal([]);
  });
});

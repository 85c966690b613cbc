import { expect } from "chai";
import fc from "fast-check";
import { createRateController } from "#streamer/transport/rateController.ts";
import type { TransportFeedback } from "#streamer/rtp/rtcp.ts";

const packetBytes = 1_200;
const feedbackEveryMs = 66;
const queueLimitMs = 400;
/**
 * Width, starting rate and delay of paths on which a report describes a long queue only once it has drained.
 */
const queuesReportedLate: [number, number, number][] = [
  [1_606, 7_946, 93],
  [961, 4_900, 96],
  [800, 4_708, 136],
  [885, 4_824, 91],
];

/** A path of limited width with a queue, in virtual time: a packet leaves after all packets before it. */
function simulate({ startKbps = 4_000, maxKbps = 8_000 } = {}) {
  let now = 0;
  let rate = startKbps;
  let widthKbps = Infinity;
  let lossRate = 0;
  let contentKbps = Infinity;
  let sequence = 0;
  let busyUntil = 0;
  let nextSendAt = 0;
  let nextFeedbackAt = feedbackEveryMs;
  let sentCount = 0;
  let propagationMs = 20;
  let busy = { everyMs: Infinity, forMs: 0 };
  let isSilent = false;
  let dropped = 0;
  const pending: { sequence: number; arrivedAtMs: number | null; knownAt: number }[] = [];
  const holds: number[] = [];
  const hold = (ms: number) => {
    holds.push(now);
    nextSendAt = Math.max(nextSendAt, now + ms);
  };
  const controller = createRateController({
    startKbps,
    minKbps: 300,
    maxKbps,
    clock: { monotonicMs: () => now },
    onRate: (kbps) => {
      rate = kbps;
    },
    onOverrun: hold,
  });

  /** Packets that arrive while the browser is busy are read afterwards, all together. */
  const readAt = (arrivedAtMs: number) => {
    const sinceBusy = arrivedAtMs % busy.everyMs;
    return sinceBusy < busy.forMs ? arrivedAtMs - sinceBusy + busy.forMs : arrivedAtMs;
  };
  const send = () => {
    const transmissionMs = (packetBytes * 8) / widthKbps;
    const queuedMs = Math.max(0, busyUntil - now);
    // At a fixed interval, so that repeated runs lose the same packets.
    const isLost = queuedMs > queueLimitMs || (lossRate > 0 && ++sentCount % Math.round(1 / lossRate) === 0);
    if (queuedMs > queueLimitMs) dropped++;
    if (!isLost) busyUntil = Math.max(now, busyUntil) + transmissionMs;
    controller.sent(sequence, packetBytes);
    const readAtMs = readAt((isLost ? now : busyUntil) + propagationMs);
    pending.push({ sequence, arrivedAtMs: isLost ? null : readAtMs, knownAt: readAtMs });
    sequence = (sequence + 1) & 0xffff;
  };
  const report = () => {
    const known = pending.filter(({ knownAt }) => knownAt <= now);
    pending.splice(0, pending.length, ...pending.filter(({ knownAt }) => knownAt > now));
    const feedback: TransportFeedback = known.map(({ sequence: number, arrivedAtMs }) => ({
      sequence: number,
      arrivedAtMs,
    }));
    if (feedback.length > 0 && !isSilent) controller.feedback(feedback);
  };
  return {
    controller,
    rate: () => rate,
    queueMs: () => Math.max(0, busyUntil - now),
    setWidth: (kbps: number) => {
      widthKbps = kbps;
    },
    /** Bitrate that the picture needs, even if more is allowed. */
    setContent: (kbps: number) => {
      contentKbps = kbps;
    },
    /** Blocks the path for this long. */
    stall: (ms: number) => {
      busyUntil = Math.max(busyUntil, now) + ms;
    },
    /** Changes the path's delay. */
    setPropagation: (ms: number) => {
      propagationMs = ms;
    },
    /** Stops all reports. */
    silence: () => {
      isSilent = true;
    },
    dropped: () => dropped,
    /** Returns the times when sending was paused. */
    holds: () => holds,
    now: () => now,
    /** Makes the browser read nothing for `forMs` every `everyMs`. */
    setBusy: (everyMs: number, forMs: number) => {
      busy = { everyMs, forMs };
    },
    setLoss: (share: number) => {
      lossRate = share;
    },
    run(seconds: number) {
      for (const end = now + seconds * 1_000; now < end; now++) {
        for (; nextSendAt <= now; nextSendAt += (packetBytes * 8) / Math.min(rate, contentKbps)) send();
        if (now >= nextFeedbackAt) {
          report();
          nextFeedbackAt += feedbackEveryMs;
        }
      }
    },
  };
}

describe("createRateController", () => {
  it("increases the rate to the maximum on a path with spare capacity", () => {
    const way = simulate({ startKbps: 2_000, maxKbps: 6_000 });
    way.run(30);
    expect(way.rate()).to.be.within(5_700, 6_000);
  });

  it("falls below a bottleneck's capacity within a second, so that its queue drains", () => {
    const way = simulate({ startKbps: 4_000, maxKbps: 4_000 });
    way.run(3);
    way.setWidth(2_500);
    way.run(1);
    expect(way.rate()).to.be.below(2_500);
    way.run(1);
    expect(way.queueMs()).to.be.below(100);
  });

  it("stays near a bottleneck's capacity, and recovers when the bottleneck is gone", () => {
    const way = simulate();
    way.setWidth(2_500);
    way.run(20);
    expect(way.rate()).to.be.within(1_500, 2_900);
    way.setWidth(Infinity);
    way.run(20);
    expect(way.rate()).to.be.above(4_000);
  });

  it("applies new limits immediately and tries a higher maximum like a new connection", () => {
    const way = simulate({ startKbps: 4_000, maxKbps: 8_000 });
    way.run(2);
    way.controller.setLimits({ minKbps: 300, maxKbps: 1_500, fps: 30 });
    expect(way.rate()).to.equal(1_500);
    way.run(5);
    expect(way.rate()).to.be.at.most(1_500);
    way.controller.setLimits({ minKbps: 300, maxKbps: 8_000, fps: 60 });
    expect(way.rate()).to.equal(4_000);
    way.run(10);
    expect(way.rate()).to.be.above(7_000);
  });

  it("starts within its limits and tries a higher maximum like a new connection", () => {
    const way = simulate({ startKbps: 4_000, maxKbps: 1_500 });
    expect(way.controller.state().targetKbps).to.equal(1_500);
    way.run(5);
    way.controller.setLimits({ minKbps: 300, maxKbps: 8_000, fps: 60 });
    expect(way.rate()).to.equal(4_000);
  });

  it("does not mistake a longer path for congestion and regains its rate", () => {
    const way = simulate();
    way.run(5);
    way.setPropagation(120);
    way.run(12);
    expect(way.rate()).to.be.above(4_000);
    expect(way.controller.state().queueMs).to.be.below(10);
  });

  it("does not mistake a standing queue for a longer path", () => {
    const way = simulate();
    way.setWidth(1_000);
    way.run(15);
    expect(way.rate()).to.be.below(1_300);
    expect(way.queueMs()).to.be.below(150);
  });

  it("decreases the rate when every fifth packet is lost", () => {
    const way = simulate();
    way.run(2);
    way.setLoss(0.2);
    way.run(5);
    expect(way.rate()).to.be.below(2_500);
    expect(way.controller.state().loss).to.be.within(0.15, 0.25);
  });

  it("keeps the rate at one percent loss", () => {
    const way = simulate();
    way.setLoss(0.01);
    way.run(10);
    expect(way.rate()).to.be.at.least(4_000);
  });

  it("keeps most of the rate when a short congestion meets a still picture", () => {
    const way = simulate();
    way.setContent(400);
    way.run(5);
    way.stall(200);
    way.run(3);
    expect(way.rate()).to.be.above(1_500);
  });

  it("regains half the starting rate with a still picture after a congestion that left less", () => {
    const way = simulate();
    way.setContent(400);
    way.setWidth(200);
    way.run(10);
    expect(way.rate()).to.be.below(1_000);
    way.setWidth(Infinity);
    way.run(25);
    expect(way.rate()).to.be.within(1_900, 2_000);
  });

  it("reacts while the queue of a slightly too narrow path is still short", () => {
    const way = simulate({ startKbps: 4_000, maxKbps: 4_000 });
    way.run(3);
    way.setWidth(3_500);
    let longestMs = 0;
    for (let step = 0; step < 20; step++) {
      way.run(0.05);
      longestMs = Math.max(longestMs, way.queueMs());
    }
    expect(longestMs).to.be.below(50);
    expect(way.rate()).to.be.below(3_500);
  });

  it("keeps its rate when a wide path stalls repeatedly for a moment", () => {
    const way = simulate({ startKbps: 4_000, maxKbps: 4_000 });
    way.setWidth(12_000);
    let lowest = Infinity;
    for (let second = 0; second < 10; second++) {
      way.stall(150);
      way.run(1);
      lowest = Math.min(lowest, way.rate());
    }
    expect(lowest).to.be.above(3_500);
  });

  it("keeps its rate when the browser is repeatedly busy for a moment", () => {
    const way = simulate();
    way.setBusy(700, 120);
    way.run(20);
    expect(way.rate()).to.be.above(4_000);
  });

  it("hardly overflows the queue when most capacity is lost, and recovers within five seconds", () => {
    const way = simulate({ startKbps: 8_000 });
    way.setWidth(10_000);
    way.run(5);
    const before = way.rate();
    expect(before).to.be.above(7_000);
    way.setWidth(1_500);
    way.run(1);
    expect(way.dropped()).to.be.below(100);
    way.run(1);
    const dropped = way.dropped();
    way.run(8);
    expect(way.dropped()).to.equal(dropped);
    expect(way.rate()).to.be.within(1_000, 1_700);
    way.setWidth(10_000);
    way.run(5);
    expect(way.rate()).to.be.above(before * 0.8);
  });

  it("pauses sending once on a path that carries a quarter of the rate, but not on one that carries half", () => {
    const way = simulate({ startKbps: 6_000, maxKbps: 6_000 });
    way.run(5);
    const narrowedAt = way.now();
    way.setWidth(1_500);
    way.run(5);
    expect(way.holds()).to.have.lengthOf(1);
    expect(way.holds()[0]).to.be.below(narrowedAt + 300);
    const other = simulate({ startKbps: 6_000, maxKbps: 6_000 });
    other.run(5);
    other.setWidth(3_000);
    other.run(5);
    expect(other.holds()).to.deep.equal([]);
  });

  it("never stays above any path's capacity, uses most of it, and keeps the queue short", function () {
    this.timeout(30_000);
    fc.assert(
      fc.property(
        fc.integer({ min: 800, max: 7_000 }),
        fc.integer({ min: 500, max: 8_000 }),
        fc.integer({ min: 5, max: 150 }),
        (widthKbps, startKbps, propagationMs) => {
          const way = simulate({ startKbps });
          way.setPropagation(propagationMs);
          way.setWidth(widthKbps);
          way.run(6);
          let [secondsAbove, longestAbove, sum] = [0, 0, 0];
          const [steps, stepSeconds] = [100, 0.1];
          const queues: number[] = [];
          for (let step = 0; step < steps; step++) {
            way.run(stepSeconds);
            secondsAbove = way.rate() > widthKbps * 1.02 ? secondsAbove + stepSeconds : 0;
            longestAbove = Math.max(longestAbove, secondsAbove);
            sum += Math.min(way.rate(), widthKbps);
            queues.push(way.queueMs());
          }
          expect(longestAbove, "seconds above the capacity").to.be.below(1.5);
          expect(sum / steps / widthKbps, "share of the capacity used").to.be.above(0.6);
          expect(queues.toSorted((a, b) => a - b)[steps / 2], "median queue in ms").to.be.below(60);
        },
      ),
      { numRuns: 12, examples: queuesReportedLate },
    );
  });

  it("respects a raised minimum and reacts to a narrow path at a low frame rate", () => {
    const way = simulate();
    way.controller.setLimits({ minKbps: 1_000, maxKbps: 8_000, fps: 10 });
    way.run(3);
    way.setWidth(500);
    way.run(5);
    expect(way.rate()).to.equal(1_000);
  });

  it("slows down when reports stop, unless nothing was sent", () => {
    const way = simulate();
    way.run(3);
    const before = way.rate();
    way.setContent(5);
    way.run(10);
    expect(way.rate()).to.be.at.least(before * 0.9);
    way.setContent(Infinity);
    way.silence();
    way.run(5);
    expect(way.rate()).to.be.below(before * 0.3);
  });

  it("never falls below the minimum rate", () => {
    const way = simulate();
    way.setWidth(50);
    way.run(30);
    expect(way.rate()).to.equal(300);
  });

  it("ignores packets that were never sent and repeated reports", () => {
    const way = simulate();
    way.run(1);
    const before = way.controller.state();
    way.controller.feedback([
      { sequence: 60_000, arrivedAtMs: 1e9 },
      { sequence: 0, arrivedAtMs: -1e9 },
    ]);
    expect(way.controller.state()).to.deep.equal(before);
  });
});

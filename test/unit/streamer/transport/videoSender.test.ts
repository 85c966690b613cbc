import { expect } from "chai";
import type { TransportFeedback } from "#streamer/rtp/transportFeedback.ts";
import { createRateController } from "#streamer/transport/rateController.ts";
import { createVideoSender } from "#streamer/transport/videoSender.ts";

const maxKbps = 6_000;
const fps = 60;
const packetBytes = 1_200;
const headerBytes = 12;
const propagationMs = 20;
const queueLimitMs = 400;
const feedbackEveryMs = 50;

/** A sender of pictures over a path of limited width with a queue in front, in virtual time. Each picture has its share of the rate. */
function openPath(widthKbps: number) {
  let now = 0;
  let width = widthKbps;
  let busyUntil = 0;
  let rateKbps = maxKbps;
  let dropped = 0;
  let lastPictureAt = 0;
  let longestGapMs = 0;
  let nextPictureAt = 0;
  let nextFeedbackAt = feedbackEveryMs;
  const timers: { at: number; callback: () => void }[] = [];
  const onTheWay: { sequence: number; arrivedAtMs: number; isLast: boolean }[] = [];
  let arrived: TransportFeedback = [];
  const rate = createRateController({ startKbps: maxKbps, minKbps: 300, maxKbps, fps, now: () => now, onRate: (kbps) => { rateKbps = kbps; } });
  const video = createVideoSender({
    now: () => now, rate, requestKeyFrame: () => true,
    schedule: (ms, callback) => {
      const timer = { at: now + ms, callback };
      timers.push(timer);
      return () => timers.splice(timers.indexOf(timer), 1);
    },
    send: (packet, sequence) => {
      if (busyUntil - now > queueLimitMs) {
        dropped++;
        return;
      }
      busyUntil = Math.max(busyUntil, now) + packet.length * 8 / width;
      onTheWay.push({ sequence, arrivedAtMs: busyUntil + propagationMs, isLast: packet[1] === 1 });
    },
  });
  const sendPicture = (kbps: number) => {
    const bytes = Math.ceil(kbps / fps / 8 * 1_000);
    const count = Math.ceil(bytes / packetBytes);
    for (let index = 0; index < count; index++) {
      const packet = Buffer.alloc(Math.max(headerBytes, index === count - 1 ? bytes % packetBytes : packetBytes));
      packet[1] = index === count - 1 ? 1 : 0;
      video.push(packet);
    }
  };
  const takeDue = () => {
    const index = timers.findIndex(({ at }) => at <= now);
    return index < 0 ? undefined : timers.splice(index, 1)[0]?.callback;
  };
  const arrive = () => {
    for (const { sequence, arrivedAtMs, isLast } of onTheWay.splice(0, onTheWay.findLastIndex(({ arrivedAtMs: at }) => at <= now) + 1)) {
      arrived.push({ sequence, arrivedAtMs });
      if (!isLast) continue;
      longestGapMs = Math.max(longestGapMs, arrivedAtMs - lastPictureAt);
      lastPictureAt = arrivedAtMs;
    }
  };
  return {
    rate,
    dropped: () => dropped,
    /** The longest time between two pictures that arrived since the last call. */
    takeLongestGap: () => {
      const gapMs = longestGapMs;
      longestGapMs = 0;
      return gapMs;
    },
    setWidth: (kbps: number) => { width = kbps; },
    /** What waits arrives at once, as from a browser that was busy. */
    arriveAtOnce: () => {
      busyUntil = now;
      for (const packet of onTheWay) packet.arrivedAtMs = Math.min(packet.arrivedAtMs, now + propagationMs);
    },
    run(seconds: number) {
      for (const end = now + seconds * 1_000; now < end; now++) {
        for (let due = takeDue(); due; due = takeDue()) due();
        arrive();
        if (now >= nextFeedbackAt) {
          nextFeedbackAt += feedbackEveryMs;
          rate.feedback(arrived);
          arrived = [];
        }
        if (now < nextPictureAt) continue;
        nextPictureAt += 1_000 / fps;
        sendPicture(rateKbps);
      }
    },
  };
}

describe("createVideoSender", () => {
  it("overflows no queue, and lets no picture wait for long, when three quarters of what it sends no longer fit", () => {
    const path = openPath(10_000);
    path.run(5);
    path.takeLongestGap();
    path.setWidth(1_500);
    path.run(8);
    expect({ dropped: path.dropped() }).to.deep.equal({ dropped: 0 });
    expect(path.takeLongestGap(), "ms between two pictures").to.be.below(150);
    path.setWidth(10_000);
    path.run(5);
    expect(path.rate.state().targetKbps).to.be.above(maxKbps * 0.8);
  });

  it("keeps most of its rate when the browser reads slowly for a moment, again and again", () => {
    const path = openPath(10_000);
    path.run(5);
    const targets: number[] = [];
    for (let moment = 0; moment < 20; moment++) {
      path.setWidth(2_000);
      path.run(0.15);
      path.setWidth(10_000);
      path.arriveAtOnce();
      for (let step = 0; step < 10; step++) {
        path.run(0.05);
        targets.push(path.rate.state().targetKbps);
      }
    }
    expect(targets.filter((kbps) => kbps > maxKbps * 0.8).length / targets.length, "share of the time at most of the rate").to.be.above(0.8);
  });

  it("keeps its rate on a path that is hardly wider", () => {
    const path = openPath(6_600);
    path.run(20);
    expect(path.rate.state()).to.include({ targetKbps: maxKbps, isDraining: false });
  });
});

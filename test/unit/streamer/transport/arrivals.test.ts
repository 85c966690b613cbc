import { expect } from "chai";
import { createArrivals } from "#streamer/transport/arrivals.ts";

const packetBytes = 1_000;
const packetEveryMs = 2;
const sentKbps = (packetBytes * 8) / packetEveryMs;
const minuteMs = 60_000;
const playedMs = 30 * minuteMs;

describe("createArrivals", () => {
  it("keeps one to two seconds of sent packets for a browser that never reports", () => {
    let now = 0;
    let sequence = 0;
    const arrivals = createArrivals({ monotonicMs: () => now }, () => 1_000 / 60);
    for (let endsAt = minuteMs; endsAt <= playedMs; endsAt += minuteMs) {
      for (; now < endsAt; now += packetEveryMs) {
        arrivals.sent(sequence, packetBytes);
        sequence = (sequence + 1) & 0xffff;
      }
      expect(arrivals.sentKbps(1_000), `kbit/s of the last second at ${now} ms`).to.be.closeTo(
        sentKbps,
        sentKbps / 100,
      );
      // Over the whole time, only what is kept counts.
      const keptMs = (arrivals.sentKbps(playedMs) * playedMs) / sentKbps;
      expect(keptMs, `what is kept at ${now} ms`).to.be.within(990, 2_010);
    }
  });

  it("counts a packet as lost only once, and as arrived if it arrives later", () => {
    const arrivals = createArrivals({ monotonicMs: () => 0 }, () => 1_000 / 60);
    for (let sequence = 0; sequence < 100; sequence++) arrivals.sent(sequence, packetBytes);
    const halfLost = Array.from({ length: 100 }, (_, sequence) => ({
      sequence,
      arrivedAtMs: sequence < 50 ? null : sequence,
    }));
    for (let report = 0; report < 10; report++) arrivals.feedback(halfLost);
    expect(arrivals.measure()?.loss).to.equal(0.5);
    expect(arrivals.feedback([{ sequence: 0, arrivedAtMs: 200 }])).to.have.length(1);
  });

  it("sees no jump when the browser's clock wraps, every twelve days", () => {
    let now = 0;
    const arrivals = createArrivals({ monotonicMs: () => now }, () => 1_000 / 60);
    const clockPeriodMs = 2 ** 24 * 64;
    const beforeItsEndMs = clockPeriodMs / 2 - 100;
    const seen: number[] = [];
    for (let sequence = 0; now < 200; sequence++, now += packetEveryMs) {
      arrivals.sent(sequence, packetBytes);
      const arrivedAtMs = beforeItsEndMs + now;
      const [arrival] = arrivals.feedback([
        {
          sequence,
          arrivedAtMs: arrivedAtMs < clockPeriodMs / 2 ? arrivedAtMs : arrivedAtMs - clockPeriodMs,
        },
      ]);
      seen.push((arrival?.arrivedAtMs ?? 0) - now);
    }
    expect(new Set(seen)).to.deep.equal(new Set([beforeItsEndMs]));
    expect(arrivals.receivedKbps(100)).to.be.closeTo(sentKbps, sentKbps / 20);
    expect(arrivals.measure()).to.include({ queueMs: 0 });
  });

  it("never reports a negative queue after accepting a delay", () => {
    const arrivals = createArrivals({ monotonicMs: () => 0 }, () => 1_000 / 60);
    for (let sequence = 0; sequence < 20; sequence++) arrivals.sent(sequence, packetBytes);
    arrivals.feedback(Array.from({ length: 20 }, (_, sequence) => ({ sequence, arrivedAtMs: sequence })));
    arrivals.acceptDelay(30);
    expect(arrivals.measure()?.queueMs).to.equal(0);
  });

  it("recognises a queue at any time, and accepts a longer path after a while", () => {
    let now = 0;
    let sequence = 0;
    const arrivals = createArrivals({ monotonicMs: () => now }, () => 1_000 / 60);
    const queuesSeen = (ms: number, delayMs: number): number[] => {
      const seen: number[] = [];
      for (const end = now + ms; now < end; now += 50) {
        const numbers = Array.from({ length: 10 }, () => sequence++);
        for (const number of numbers) arrivals.sent(number, packetBytes);
        arrivals.feedback(numbers.map((number) => ({ sequence: number, arrivedAtMs: now + delayMs })));
        seen.push(arrivals.measure()?.queueMs ?? 0);
      }
      return seen;
    };
    queuesSeen(14_000, 20);
    expect(queuesSeen(16_000, 300).slice(10), "over the end of a time").to.satisfy((seen: number[]) =>
      seen.every((queueMs) => queueMs === 280),
    );
    expect(queuesSeen(40_000, 300).at(-1), "after two times").to.equal(0);
  });
});

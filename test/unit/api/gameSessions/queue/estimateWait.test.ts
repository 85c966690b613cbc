import { expect } from "chai";
import { estimateWait } from "#api/gameSessions/queue/estimateWait.ts";
import { simulateDay, type SimulatedWait } from "#test/support/model/simulatedQueue.ts";

describe("estimateWait", () => {
  const evening = { seats: 10, ends: 40, playedSeconds: 40 * 1800, seated: 30, abandoned: 0 };

  it("returns an earlier band for fewer launches ahead, more seats and shorter sessions", () => {
    const usual = estimateWait(5, evening);
    expect(usual.min).to.be.lessThan(usual.max);
    for (const sooner of [
      estimateWait(1, evening),
      estimateWait(5, { ...evening, seats: 20 }),
      estimateWait(5, { ...evening, playedSeconds: 20 * 1800 }),
      estimateWait(5, { ...evening, abandoned: 30 }),
    ])
      expect(sooner.max).to.be.lessThan(usual.max);
  });

  it("follows the exponential distribution for the next launch once much was measured", () => {
    const measured = { seats: 1, ends: 10_000, playedSeconds: 10_000 * 3000, seated: 0, abandoned: 0 };
    // Quantiles of the exponential distribution with a mean of 3000 s: 316 s and 6908 s.
    expect(estimateWait(0, measured)).to.deep.equal({ min: 300, max: 7200 });
  });

  it("returns a wide but finite band before anything was measured", () => {
    const unknown = { seats: 0, ends: 0, playedSeconds: 0, seated: 0, abandoned: 0 };
    const { min, max } = estimateWait(0, unknown);
    expect(min).to.be.at.least(0);
    expect(max).to.be.within(3600, 6 * 3600);
    expect(estimateWait(500, evening).max).to.be.greaterThan(estimateWait(50, evening).max);
  });

  describe("on a simulated day", () => {
    for (const seed of [1, 2, 3]) {
      it(`holds for at least three of four waits, and is no wider than it says (seed ${seed})`, () => {
        const waits = simulateDay(seed);
        expect(waits.length).to.be.greaterThan(100);
        const share = shareOf(
          waits,
          ({ seconds, estimate: { min, max } }) => seconds >= min && seconds <= max,
        );
        expect(share).to.be.within(0.75, 0.97);
        // Neither end of the band is there for nothing.
        expect(shareOf(waits, ({ seconds, estimate: { min } }) => seconds < min)).to.be.below(0.2);
        expect(shareOf(waits, ({ seconds, estimate: { max } }) => seconds > max)).to.be.below(0.2);
      });
    }
  });
});

function shareOf(waits: readonly SimulatedWait[], holds: (wait: SimulatedWait) => boolean): number {
  return waits.filter(holds).length / waits.length;
}

import { expect } from "chai";
import { deadlinesOf, isPast } from "#operator/controllers/gameSession/deadlines.ts";
import { StopTimes } from "#operator/controllers/gameSession/stopTimes.ts";
import type { SessionWorld } from "#operator/controllers/gameSession/world.ts";
import { aGameSession, aPlacedStatus } from "#test/factories/gameSession.ts";
import { FakeClock } from "#test/support/clocks/fakeClock.ts";

const minutes = 60_000;

describe("deadlinesOf, where clocks differ by ten minutes", () => {
  for (const [who, skewMs] of [["ahead of", 10 * minutes], ["behind", -10 * minutes]] as const) {
    let clock: FakeClock;
    let times: StopTimes;

    beforeEach(() => {
      clock = new FakeClock();
      times = new StopTimes(clock);
    });

    /** As another clock says it. */
    const elsewhere = (): string => new Date(clock.now().getTime() + skewMs).toISOString();

    function worldOf(session: SessionWorld["session"], seenAt: SessionWorld["seenAt"]): SessionWorld {
      return {
        now: clock.now(), session, pod: undefined, isContentCached: false, playable: undefined, nodeHealth: "Healthy", internet: "Allowed", seenAt,
        timing: { unschedulableMs: 10_000, saveGiveUpMs: 45_000 },
      };
    }

    it(`lets a session have its time whose start a clock ${who} this one has noted, and no more`, async () => {
      const startedAt = elsewhere();
      const session = aGameSession({ spec: { startDeadlineSeconds: 120 }, status: aPlacedStatus({ startedAt }) });
      const isTooLate = (): boolean => isPast(deadlinesOf(worldOf(session, times.momentsOf("a", { startedAt }, clock.now()))).start, clock.now());
      expect(isTooLate()).to.equal(false);
      await clock.advance(119_000);
      expect(isTooLate()).to.equal(false);
      await clock.advance(1_000);
      expect(isTooLate()).to.equal(true);
    });
  }

  it("counts anew for another moment, and for a session that was forgotten", async () => {
    const clock = new FakeClock();
    const times = new StopTimes(clock);
    const seen = (noted: string) => times.momentsOf("a", { assignedAt: noted }, clock.now()).assignedAt?.getTime();
    const first = seen("x");
    await clock.advance(1000);
    expect(seen("x")).to.equal(first);
    expect(seen("y")).to.equal(clock.now().getTime());
    await clock.advance(1000);
    times.forgetAll("a");
    expect(seen("y")).to.equal(clock.now().getTime());
  });
});

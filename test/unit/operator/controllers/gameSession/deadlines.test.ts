import { expect } from "chai";
import { deadlinesOf, isPast } from "#operator/controllers/gameSession/deadlines.ts";
import { StopTimes } from "#operator/controllers/gameSession/stopTimes.ts";
import type { SessionWorld } from "#operator/controllers/gameSession/world.ts";
import { aGameSession, aPlacedStatus, aRunningStatus } from "#test/factories/gameSession.ts";
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

  it("lets a session that was kept alive have its idle timeout from when this operator first saw that, whatever was noted", async () => {
    for (const skewMs of [-10 * minutes, 0, 10 * minutes]) {
      const clock = new FakeClock();
      const times = new StopTimes(clock);
      const elsewhere = (secondsFromNow: number): string => new Date(clock.now().getTime() + skewMs + secondsFromNow * 1000).toISOString();
      const readyAt = elsewhere(-3_600);
      // Long past: the API server was away, and this operator takes over from one that ended with it.
      let expiresAt = elsewhere(-1_200);
      const idleAt = (): number => {
        const session = aGameSession({ spec: { idleTimeoutSeconds: 600, expiresAt }, status: aRunningStatus({ readyAt }) });
        const seenAt = times.momentsOf("a", { expiresAt }, clock.now());
        const world: SessionWorld = {
          now: clock.now(), session, pod: undefined, isContentCached: false, playable: undefined, nodeHealth: "Healthy", internet: "Allowed", seenAt,
          timing: { unschedulableMs: 10_000, saveGiveUpMs: 45_000 },
        };
        return ((deadlinesOf(world).idle ?? 0) - clock.now().getTime()) / 1000;
      };
      expect(idleAt()).to.equal(600);
      await clock.advance(400_000);
      expect(idleAt()).to.equal(200);
      expiresAt = elsewhere(-1);
      expect(idleAt(), "after a keepalive").to.equal(600);
    }
  });

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

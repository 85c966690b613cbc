import { expect } from "chai";
import type { GameSession } from "#contracts/crd/gameSession.ts";
import type { Stored } from "#kube/api/object.ts";
import {
  type Deadlines,
  deadlinesOf,
  isPast,
  notedMoments,
} from "#operator/controllers/gameSession/deadlines.ts";
import { Moments } from "#operator/controllers/gameSession/moments.ts";
import { aCondition, aGameSession, aPlacedStatus, aRunningStatus } from "#test/factories/gameSession.ts";
import { FakeClock } from "#test/support/clocks/fakeClock.ts";

const minutes = 60_000;

describe("deadlinesOf with clocks ten minutes apart", () => {
  for (const [who, skewMs] of [
    ["ahead of", 10 * minutes],
    ["behind", -10 * minutes],
  ] as const) {
    let clock: FakeClock;
    let moments: Moments;

    beforeEach(() => {
      clock = new FakeClock();
      moments = new Moments();
    });

    /** Returns the current time of the other clock. */
    const elsewhere = (): string => new Date(clock.now().getTime() + skewMs).toISOString();

    function isPastNow(session: Stored<GameSession>, deadline: keyof Deadlines): boolean {
      const nowMs = clock.monotonicMs();
      return isPast(
        deadlinesOf({
          now: clock.now(),
          nowMs,
          seenAtMs: moments.note("a", notedMoments(session, undefined), nowMs),
          session,
          pod: undefined,
          isContentCached: false,
          playable: undefined,
          isInputIdle: false,
          idleEndsAtMs: undefined,
          nodeHealth: "Healthy",
          isAgentSilent: false,
          internet: "Allowed",
          timing: { unschedulableMs: 10_000, saveGiveUpMs: 45_000 },
        })[deadline],
        { nowMs },
      );
    }

    /** Expects that the deadline of a session first seen now passes after exactly this many seconds. */
    async function expectAfter(
      seconds: number,
      session: Stored<GameSession>,
      deadline: keyof Deadlines,
    ): Promise<void> {
      expect(isPastNow(session, deadline), "at once").to.equal(false);
      await clock.advance(seconds * 1000 - 1);
      expect(isPastNow(session, deadline), "a moment before").to.equal(false);
      await clock.advance(1);
      expect(isPastNow(session, deadline), "then").to.equal(true);
    }

    it(`applies the start deadline exactly when startedAt comes from a clock ${who} this one`, () =>
      expectAfter(120, aGameSession({ status: aPlacedStatus({ startedAt: elsewhere() }) }), "start"));

    it(`applies the download deadline exactly when the node was chosen by a clock ${who} this one`, () =>
      expectAfter(
        60,
        aGameSession({
          status: aPlacedStatus({ placement: { attempt: 1, assignedAt: elsewhere(), triedNodes: [] } }),
        }),
        "download",
      ));

    it(`applies the idle deadline without keepalives when readyAt comes from a clock ${who} this one`, () =>
      expectAfter(1800, aGameSession({ status: aRunningStatus({ readyAt: elsewhere() }) }), "idle"));

    it(`applies the maximum duration when readyAt comes from a clock ${who} this one`, () =>
      expectAfter(28_800, aGameSession({ status: aRunningStatus({ readyAt: elsewhere() }) }), "maxDuration"));

    it(`keeps a finished session for its time to live when it ended by a clock ${who} this one`, () =>
      expectAfter(
        300,
        aGameSession({
          status: aRunningStatus({ finishedAt: elsewhere(), conditions: [aCondition("Finished")] }),
        }),
        "expiry",
      ));

    it(`gives up a stop on time when it began by a clock ${who} this one`, () =>
      expectAfter(45, aGameSession({ status: aRunningStatus({ stoppingAt: elsewhere() }) }), "saveGiveUp"));

    for (const [what, deadline, seconds] of [
      ["records", "stoppingNote", 5],
      ["gives up", "saveGiveUp", 45],
    ] as const) {
      it(`${what} a stop requested only in the spec on time when readyAt comes from a clock ${who} this one`, () =>
        expectAfter(
          seconds,
          aGameSession({
            spec: { desiredState: "Stopped" },
            status: aRunningStatus({ readyAt: elsewhere() }),
          }),
          deadline,
        ));
    }

    it(`counts idleness from when it saw expiresAt change by a database ${who} this clock`, async () => {
      const status = aRunningStatus({ readyAt: elsewhere() });
      const kept = () =>
        aGameSession({
          spec: { expiresAt: new Date(Date.parse(elsewhere()) + 2_250_000).toISOString() },
          status,
        });
      for (let keepalive = 0; keepalive < 3; keepalive++) {
        const session = kept();
        expect(isPastNow(session, "idle")).to.equal(false);
        await clock.advance(2_000_000);
        expect(isPastNow(session, "idle")).to.equal(false);
      }
      await expectAfter(2250, kept(), "idle");
    });
  }

  it("restarts for another moment and for a forgotten session", () => {
    const moments = new Moments();
    const seen = (noted: string, nowMs: number) => moments.note("a", { assignedAt: noted }, nowMs).assignedAt;
    expect(seen("x", 1000)).to.equal(1000);
    expect(seen("x", 2000)).to.equal(1000);
    expect(moments.seenAtMs("a", "assignedAt")).to.equal(1000);
    expect(seen("y", 3000)).to.equal(3000);
    moments.forget("a");
    expect(moments.seenAtMs("a", "assignedAt")).to.equal(undefined);
    expect(seen("y", 4000)).to.equal(4000);
  });
});

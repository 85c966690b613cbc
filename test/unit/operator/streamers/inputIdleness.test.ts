import { expect } from "chai";
import { silentLogger } from "#runtime/logger.ts";
import { keyOf, type Stored } from "#kube/api/object.ts";
import type { Pod } from "#kube/api/builtin.ts";
import { InputIdleness } from "#operator/streamers/inputIdleness.ts";
import { aGameSession } from "#test/factories/gameSession.ts";
import { aSessionPod, running } from "#test/factories/sessionPod.ts";
import { FakeClock } from "#test/support/clocks/fakeClock.ts";

const maxIdleMs = 600_000;

describe("InputIdleness", () => {
  let clock: FakeClock;
  let pod: Stored<Pod>;
  let pods: Stored<Pod>[];
  let lastInputAt: string | null;
  let isSilent: boolean;
  let asked: number;
  let told: string[];
  let unsubscribe: () => void;

  beforeEach(() => {
    clock = new FakeClock();
    pod = aSessionPod(aGameSession({}), { nodeName: "a", status: { ...running, podIP: "10.0.0.1" } });
    pods = [pod];
    lastInputAt = null;
    isSilent = false;
    asked = 0;
    told = [];
  });
  afterEach(() => unsubscribe());

  function follow({ limitMs }: { limitMs: number | undefined } = { limitMs: maxIdleMs }): InputIdleness {
    const idleness = new InputIdleness({
      pods: { list: () => pods },
      tickets: { publicKey: "", sign: (name) => `to ${name}` },
      askStreamer: () => {
        asked++;
        return isSilent ? Promise.reject(new Error("no response")) : Promise.resolve({ lastInputAt });
      },
      maxIdleMs: limitMs,
      clock,
      logger: silentLogger,
    });
    unsubscribe = idleness.subscribe((key) => told.push(key));
    return idleness;
  }

  it("finds a session without input for the permitted time, by its own clock", async () => {
    const idleness = follow();
    await clock.advance(maxIdleMs - 60_000);
    // A pod's clock may be hours off.
    lastInputAt = "1999-01-01T00:00:00.000Z";
    await clock.advance(maxIdleMs - 60_000);
    expect(idleness.isIdle(pod)).to.equal(false);
    await clock.advance(120_000);
    expect(idleness.isIdle(pod)).to.equal(true);
    expect(told).to.include(keyOf(pod));
  });

  it("waits for an answer of the streamer, which may have had input since", async () => {
    const idleness = follow();
    await clock.advance(60_000);
    isSilent = true;
    await clock.advance(2 * maxIdleMs);
    expect([idleness.isIdle(pod), told]).to.deep.equal([false, []]);
    isSilent = false;
    lastInputAt = "2030-01-01T00:15:00.000Z";
    await clock.advance(60_000);
    expect([idleness.isIdle(pod), told]).to.deep.equal([false, []]);
  });

  it("foresees the end five minutes before, and takes it back after input", async () => {
    const idleness = follow();
    await clock.advance(200_000);
    expect(idleness.endsAtMs(pod)).to.equal(undefined);
    await clock.advance(180_000);
    expect(idleness.endsAtMs(pod)).to.equal(maxIdleMs);
    expect(told).to.deep.equal([keyOf(pod)]);
    lastInputAt = "2030-01-01T00:05:00.000Z";
    await clock.advance(60_000);
    expect(idleness.endsAtMs(pod)).to.equal(undefined);
    expect(told).to.deep.equal([keyOf(pod), keyOf(pod)]);
  });

  it("forgets pods that are gone", async () => {
    const idleness = follow();
    await clock.advance(2 * maxIdleMs);
    pods = [];
    await clock.advance(60_000);
    expect(idleness.isIdle(pod)).to.equal(false);
  });

  it("asks nobody without a limit", async () => {
    follow({ limitMs: undefined });
    await clock.advance(maxIdleMs);
    expect([asked, clock.pendingTimers]).to.deep.equal([0, 0]);
  });
});

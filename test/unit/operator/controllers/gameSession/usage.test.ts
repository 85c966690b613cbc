import { expect } from "chai";
import { aGameSession, after, aPlacedStatus, aRunningStatus } from "#test/factories/gameSession.ts";
import { anAccount, aSessionPod, containerStatus, ended } from "#test/factories/sessionPod.ts";
import { usageOf } from "../../../../../operator/src/controllers/gameSession/usage.ts";

const running = aGameSession({ status: aRunningStatus() });
const game = JSON.parse(anAccount()) as unknown;
const streamerAccount = JSON.stringify({ state: "ended", reason: "stopped", connections: 1, game, cpuSeconds: 1, peakMemoryBytes: 1, wallSeconds: 1 });

describe("usageOf", () => {
  it("takes the game's own account, from Ready to the game's end", () => {
    expect(usageOf(running, aSessionPod(running, { status: ended() }), after(300)))
      .to.deep.equal({ durationSeconds: 60, cpuSeconds: 12.5, peakMemoryBytes: 300_000_000 });
  });

  it("falls back to what the streamer saw of it when the game died without a word", () => {
    const status = { ...ended(137, ""), initContainerStatuses: [containerStatus("streamer", { terminated: { exitCode: 0, message: streamerAccount } })] };
    expect(usageOf(running, aSessionPod(running, { status }), after(300))).to.include({ cpuSeconds: 12.5 });
  });

  for (const [what, message] of [["none", ""], ["cut", anAccount().slice(0, 40)], ["another program's", "Killed"], ["of another shape", "{\"cpuSeconds\":-1}"]]) {
    it(`is unknown when the account is ${what ?? ""}`, () => {
      expect(usageOf(running, aSessionPod(running, { status: ended(1, message) }), after(300))).to.equal(undefined);
    });
  }

  it("is unknown without a pod", () => expect(usageOf(running, undefined, after(300))).to.equal(undefined));

  it("lasts no time when the session was never ready, and never less than none", () => {
    const early = aGameSession({ status: aPlacedStatus() });
    expect(usageOf(early, aSessionPod(early, { status: ended() }), after(300))?.durationSeconds).to.equal(0);
    const justReady = aGameSession({ status: aRunningStatus({ readyAt: "2030-01-01T10:01:05.900Z" }) });
    expect(usageOf(justReady, aSessionPod(justReady, { status: ended() }), after(300))?.durationSeconds).to.equal(0);
  });
});

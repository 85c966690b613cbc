import { availableParallelism } from "node:os";
import { expect } from "chai";
import { platform, sessionsNamespace } from "#test/e2e/support/platform.ts";
import { publishHostile } from "#test/e2e/support/hostileGame.ts";
import { hostileSessionsOfSuite } from "#test/e2e/support/hostileSession.ts";

describe("a game that forges its termination report", () => {
  const launch = hostileSessionsOfSuite();

  it("does not stop its streamer, and the forged report is ignored", async () => {
    const { report } = await publishHostile("report");
    const session = await launch(report);
    await session.begin();
    const told = await session.tells("report: done", 60_000);
    for (const lie of ["fifo", "claim", "zero", "folder", "wild"])
      expect(told.get(`report ${lie}`), lie).to.match(/^placed/);

    const pod = await (await platform()).pods.get({ namespace: sessionsNamespace, name: session.id });
    const streamer = pod.status?.initContainerStatuses?.[0];
    expect(streamer?.restartCount, "restarts of the streamer").to.equal(0);
    expect(streamer?.ready, "the streamer is ready").to.equal(true);

    const { spec, status } = await session.finish();
    expect(status?.stopReason).to.equal("UserRequested");
    expect(status?.save?.final, "its save is stored").to.equal(true);
    expect(status?.usage?.peakMemoryBytes).to.be.at.most(spec.resources.memoryBytes + spec.saveVolumeBytes);
    // A game has no limit of processors but its node's; some seconds pass before the session is ready, and
    // some after its stop.
    expect(status?.usage?.cpuSeconds).to.be.at.most(
      ((status?.usage?.durationSeconds ?? 0) + 60) * availableParallelism(),
    );
  });
});

import { expect } from "chai";
import type { GameSessionStatus } from "#contracts/crd/gameSession.ts";
import { measuredLaunchStepOf } from "#contracts/crd/launchStep.ts";
import { createCluster, type Cluster } from "#operator/cluster/cluster.ts";
import { LaunchSteps } from "#operator/figures/launchSteps.ts";
import { aCacheEntry, aGameNode } from "#test/factories/gameNode.ts";
import { aCondition, aGameSession, aPlacedStatus, aRunningStatus } from "#test/factories/gameSession.ts";

const key = "joypod-sessions/gs-a";

describe("LaunchSteps", () => {
  let cluster: Cluster;
  let nowMs: number;
  let done: [step: string, seconds: number][];
  let steps: LaunchSteps;
  let version: number;

  beforeEach(() => {
    cluster = createCluster();
    nowMs = 1_000;
    done = [];
    version = 0;
    steps = new LaunchSteps({
      cluster,
      clock: { monotonicMs: () => nowMs },
      onStep: (step, seconds) => done.push([step, seconds]),
    });
  });

  function after(seconds: number, status?: GameSessionStatus): void {
    nowMs += seconds * 1_000;
    cluster.gameSessions.upsert(
      aGameSession({
        metadata: { name: "gs-a", resourceVersion: String(++version) },
        ...(status === undefined ? {} : { status }),
      }),
    );
  }
  const passed = (...types: string[]): GameSessionStatus =>
    aPlacedStatus({ conditions: types.map((type) => aCondition(type)) });

  it("measures each step of a launch from the session's creation to its first picture", () => {
    after(0);
    after(0.2, passed("Scheduled"));
    after(3, passed("Scheduled", "ContentReady"));
    after(0.5, passed("Scheduled", "ContentReady", "SaveRestored"));
    after(0.1, passed("Scheduled", "ContentReady", "SaveRestored"));
    after(1.4, aRunningStatus());
    const expected = [
      ["scheduling", 0.2],
      ["downloading", 3],
      ["restoring", 0.5],
      ["booting", 1.5],
    ];
    expect(done).to.deep.equal(expected);
    expect(steps.secondsOf(key)).to.deep.equal(Object.fromEntries(expected));
  });

  it("counts steps that end together as the first of them", () => {
    after(0);
    after(0.2, passed("Scheduled", "ContentReady"));
    after(2, aRunningStatus());
    expect(done).to.deep.equal([
      ["scheduling", 0.2],
      ["restoring", 2],
    ]);
  });

  it("measures no download if the node already has the game", () => {
    cluster.gameNodes.upsert(aGameNode("node1", { entries: [aCacheEntry()] }));
    after(0);
    after(0.2, passed("Scheduled"));
    after(3, passed("Scheduled", "ContentReady", "SaveRestored"));
    after(1, aRunningStatus());
    expect(done).to.deep.equal([
      ["scheduling", 0.2],
      ["restoring", 3],
      ["booting", 1],
    ]);
  });

  it("does not measure steps that began before it started", () => {
    after(0, passed("Scheduled"));
    after(1, passed("Scheduled", "ContentReady"));
    after(1, passed("Scheduled", "ContentReady", "SaveRestored"));
    expect(done).to.deep.equal([["restoring", 1]]);
  });

  it("measures the last attempt of a step repeated by a move to another node", () => {
    after(0);
    after(1, passed("Scheduled"));
    after(5, passed("Scheduled", "ContentReady"));
    after(1, passed("Scheduled"));
    after(2, passed("Scheduled", "ContentReady"));
    expect(done).to.deep.equal([
      ["scheduling", 1],
      ["downloading", 5],
      ["downloading", 2],
    ]);
    expect(steps.secondsOf(key)).to.deep.equal({ scheduling: 1, downloading: 2 });
  });

  it("forgets finished and deleted sessions", () => {
    after(0);
    after(1, passed("Scheduled"));
    after(1, aRunningStatus({ conditions: [aCondition("Finished")] }));
    expect(steps.secondsOf(key)).to.deep.equal({});
  });

  it("reports no step for a session that was ready before", () => {
    expect(
      measuredLaunchStepOf(
        aGameSession({ status: aRunningStatus({ conditions: [aCondition("Ready", { status: "False" })] }) }),
        false,
      ),
    ).to.equal(undefined);
    expect(measuredLaunchStepOf(aGameSession(), false)).to.equal("scheduling");
  });
});

import { expect } from "chai";
import type { GameSessionStatus } from "#contracts/crd/gameSession.ts";
import { launchProgressOf } from "#api/gameSessions/launchStep.ts";
import { aDigest, aCondition, aGameSession, aPlacedStatus } from "#test/factories/gameSession.ts";
import { aCacheEntry, aGameNode } from "#test/factories/gameNode.ts";

const noNode = (): undefined => undefined;

function stepAfter(...conditions: string[]): string {
  const status = aPlacedStatus({ conditions: conditions.map((type) => aCondition(type)) });
  return launchProgressOf(aGameSession({ status }), noNode).step;
}

describe("launchProgressOf", () => {
  it("names the launch's current step", () => {
    expect(launchProgressOf(undefined, noNode)).to.deep.equal({ step: "scheduling" });
    expect(launchProgressOf(aGameSession(), noNode)).to.deep.equal({ step: "scheduling" });
    expect(stepAfter("Scheduled")).to.equal("downloading");
    expect(stepAfter("Scheduled", "ContentReady")).to.equal("restoring");
    expect(stepAfter("Scheduled", "ContentReady", "SaveRestored")).to.equal("booting");
    expect(stepAfter("Scheduled", "ContentReady", "SaveRestored", "PodReady")).to.equal("connecting");
  });

  it("names no download of a version that the session's node lists as ready, unless the session's condition says that files are missing", () => {
    const node = aGameNode("node1", { entries: [aCacheEntry()] });
    const progressOf = (status: GameSessionStatus) =>
      launchProgressOf(aGameSession({ status }), (name) => (name === "node1" ? node : undefined));
    expect(progressOf(aPlacedStatus())).to.deep.equal({ step: "restoring" });
    expect(
      progressOf(
        aPlacedStatus({
          conditions: [
            aCondition("Scheduled"),
            aCondition("ContentReady", { status: "False", reason: "ArchiveIncomplete" }),
          ],
        }),
      ).step,
    ).to.equal("downloading");
  });

  it("returns the progress of this version's download on the session's node", () => {
    const entries = [
      { digest: "b".repeat(64), state: "Downloading", bytes: 0, progressPercent: 90, inUse: false },
      { digest: aDigest, state: "Downloading", bytes: 0, progressPercent: 30, inUse: true },
    ] as const;
    const node = aGameNode("node1", { entries: [...entries] });
    const progress = launchProgressOf(aGameSession({ status: aPlacedStatus() }), (name) =>
      name === "node1" ? node : undefined,
    );
    expect(progress).to.deep.equal({ step: "downloading", progressPercent: 30 });
  });
});

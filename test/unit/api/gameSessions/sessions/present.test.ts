import { expect } from "chai";
import {
  currentStatus,
  presentStop,
  publicEndOf,
  presentLaunchProgress,
} from "#api/gameSessions/sessions/present.ts";
import {
  aCondition,
  aGameSession,
  aRunningStatus,
  aDigest,
  aPlacedStatus,
} from "#test/factories/gameSession.ts";
import type { GameSessionStatus } from "#contracts/crd/gameSession.ts";
import { GameSessionEndReason, type LaunchStage } from "#contracts/http/gameSessions.ts";
import { aCacheEntry, aGameNode } from "#test/factories/gameNode.ts";
import { StopReason } from "#contracts/crd/gameSessionSpec.ts";
import type { PublicStatus } from "#contracts/crd/sessionState.ts";

const noNode = (): undefined => undefined;

describe("presentLaunchProgress", () => {
  it("returns the launch's current step", () => {
    expect(presentLaunchProgress(undefined, noNode)).to.deep.equal({ stage: "scheduling" });
    expect(presentLaunchProgress(aGameSession(), noNode)).to.deep.equal({ stage: "scheduling" });
    expect(stepAfter("Scheduled")).to.equal("downloading");
    expect(stepAfter("Scheduled", "ContentReady")).to.equal("restoring");
    expect(stepAfter("Scheduled", "ContentReady", "SaveRestored")).to.equal("booting");
    expect(stepAfter("Scheduled", "ContentReady", "SaveRestored", "PodReady")).to.equal("connecting");
  });

  it("skips the download of a version that the node lists as ready, unless files are missing", () => {
    const node = aGameNode("node1", { entries: [aCacheEntry()] });
    const progressOf = (status: GameSessionStatus) =>
      presentLaunchProgress(aGameSession({ status }), (name) => (name === "node1" ? node : undefined));
    expect(progressOf(aPlacedStatus())).to.deep.equal({ stage: "restoring" });
    expect(
      progressOf(
        aPlacedStatus({
          conditions: [
            aCondition("Scheduled"),
            aCondition("ContentReady", { status: "False", reason: "ArchiveIncomplete" }),
          ],
        }),
      ).stage,
    ).to.equal("downloading");
  });

  it("returns the progress of this version's download on the session's node", () => {
    const entries = [
      { digest: "b".repeat(64), state: "Downloading", bytes: 0, progressPercent: 90, inUse: false },
      { digest: aDigest, state: "Downloading", bytes: 0, progressPercent: 30, inUse: true },
    ] as const;
    const node = aGameNode("node1", { entries: [...entries] });
    const progress = presentLaunchProgress(aGameSession({ status: aPlacedStatus() }), (name) =>
      name === "node1" ? node : undefined,
    );
    expect(progress).to.deep.equal({ stage: "downloading", progressPercent: 30 });
  });
});

describe("publicEndOf", () => {
  it("maps every reason of the cluster", () => {
    const words = StopReason.options.map((reason) => publicEndOf(reason, true)!.endReason);
    words.push(publicEndOf("IdleTimeout", false)!.endReason);
    words.push(publicEndOf("Failed", false, { failureReason: "GameUnavailable" })!.endReason);
    // The cluster does not know why the duration of a session is limited.
    expect([...words, "play_limit"].toSorted()).to.deep.equal(GameSessionEndReason.options.toSorted());
  });

  it("explains every end of a played session except the player's own stop", () => {
    for (const reason of StopReason.options) {
      expect(publicEndOf(reason, true)!.message === undefined, reason).to.equal(reason === "UserRequested");
    }
  });

  it("says that a cancelled launch left the saves unchanged", () => {
    expect(publicEndOf("UserRequested", false)).to.deep.equal({
      endReason: "user_requested",
      message: "The launch was cancelled. Your saves are unchanged.",
    });
  });

  it("distinguishes a failed launch from a failed game", () => {
    expect(publicEndOf("Failed", false)!.message).not.to.equal(publicEndOf("Failed", true)!.message);
  });

  it("distinguishes a failure of the game itself, with how it ended", () => {
    for (const reason of ["GameCrashed", "GameEndedEarly", "OutOfMemory"])
      for (const wasReady of [true, false]) {
        const end = publicEndOf("Failed", wasReady, {
          failureReason: reason,
          exit: { code: 139, signal: "SIGSEGV" },
        })!;
        expect(end.gameError).to.deep.equal({ exitCode: 139, signal: "SIGSEGV" });
        expect(end.message)
          .to.match(/^The game /)
          .and.not.contain("Try again");
      }
    expect(publicEndOf("Failed", true, { failureReason: "GameCrashed" })!.gameError).to.deep.equal({});
    expect(publicEndOf("Failed", true, { failureReason: "StreamerFailed", exit: { code: 1 } })!.gameError).to
      .be.undefined;
  });

  it("says what to do about a save that could not be restored", () => {
    for (const reason of ["ChecksumMismatch", "SaveMissing"])
      expect(publicEndOf("Failed", false, { failureReason: reason })!.message).to.contain(
        "Restore the previous version",
      );
    expect(publicEndOf("Failed", true, { failureReason: "SaveMissing" })).to.deep.equal(
      publicEndOf("Failed", true),
    );
  });

  it("returns undefined before the end", () => {
    expect(publicEndOf(null, true)).to.be.undefined;
    expect(publicEndOf("Nonsense", true)).to.be.undefined;
  });
});

const running = aGameSession({ status: aRunningStatus() });
const stopping = aGameSession({ spec: { desiredState: "Stopped" }, status: aRunningStatus() });
const finished = aGameSession({ status: aRunningStatus({ conditions: [aCondition("Finished")] }) });

describe("currentStatus", () => {
  it("prefers the cluster's status if the row lags behind", () => {
    expect(currentStatus({ status: "starting" }, running)).to.equal("running");
    expect(currentStatus({ status: "running" }, stopping)).to.equal("stopping");
  });

  it("returns ended only once the result can be read", () => {
    expect(currentStatus({ status: "running" }, finished)).to.equal("stopping");
  });

  it("never returns a status before the row's", () => {
    const late = ["stopping", "stopped", "error"] satisfies PublicStatus[];
    for (const status of late) expect(currentStatus({ status }, running)).to.equal(status);
    expect(currentStatus({ status: "running" }, aGameSession())).to.equal("running");
    expect(currentStatus({ status: "starting" }, undefined)).to.equal("starting");
  });
});

describe("presentStop", () => {
  it("rounds to hundredths and presents unknown figures as zero", () => {
    const row = {
      id: "gs-1",
      status: "stopped",
      gameSlug: "g",
      gameTitle: "G",
      startedAt: new Date(),
      readyAt: null,
      expiresAt: null,
      stopReason: null,
      stoppingAt: null,
      durationSeconds: 1.23456,
      cpuSeconds: null,
      peakMemoryMb: 300,
      saveNotice: null,
      fullFolders: [],
      earlierSave: null,
      failureReason: null,
      stream: aGameSession().spec.stream,
      queue: null,
      maxDurationSeconds: 28_800,
      playLimitEndsAt: null,
    } satisfies Parameters<typeof presentStop>[0];
    expect(presentStop(row)).to.deep.equal({
      status: "stopped",
      duration: 1.23,
      cpuSeconds: 0,
      peakMemoryMb: 300,
    });
    expect(presentStop(undefined)).to.deep.equal({ status: "stopping" });
  });
});

function stepAfter(...conditions: string[]): LaunchStage | undefined {
  const status = aPlacedStatus({ conditions: conditions.map((type) => aCondition(type)) });
  return presentLaunchProgress(aGameSession({ status }), noNode).stage;
}

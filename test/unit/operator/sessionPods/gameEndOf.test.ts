import { expect } from "chai";
import { gameEndOf, isGameReportPending } from "#operator/sessionPods/podState.ts";
import { aGameSession } from "#test/factories/gameSession.ts";
import {
  aSessionPod,
  aTerminationReport,
  containerStatus,
  ended,
  running,
} from "#test/factories/sessionPod.ts";

const podOf = (status: typeof running) => aSessionPod(aGameSession(), { status });
const endOf = (exitCode: number, report: Record<string, unknown> | undefined) =>
  gameEndOf(podOf(ended(exitCode, report === undefined ? "" : aTerminationReport({ exitCode, ...report }))));

describe("gameEndOf", () => {
  it("returns what ended the game and which folders were full", () => {
    expect(endOf(0, { endedBy: "close-request", fullFolders: [] })).to.deep.equal({
      endedBy: "CloseRequest",
    });
    expect(
      endOf(0, { endedBy: "sigterm", fullFolders: ["home", "shm", "home"], hasOutlivedLauncher: true }),
    ).to.deep.equal({ endedBy: "Sigterm", hasOutlivedLauncher: true, fullFolders: ["Home", "Shm"] });
  });

  it("counts a game as killed that was killed by the kernel or with its supervisor", () => {
    const killed = { endedBy: "Sigkill" };
    expect(endOf(0, { reason: "stopped-by-kill", endedBy: "sigkill" })).to.deep.equal(killed);
    expect(endOf(137, { reason: "out-of-memory", endedBy: "itself" })).to.deep.equal(killed);
    expect(endOf(137, { state: "running", reason: null, exitCode: null })).to.deep.equal(killed);
    expect(endOf(137, undefined)).to.deep.equal(killed);
  });

  it("returns undefined without a report, and while the game runs", () => {
    expect(endOf(0, undefined)).to.equal(undefined);
    expect(gameEndOf(podOf(running))).to.equal(undefined);
  });
});

describe("isGameReportPending", () => {
  it("returns true from the game's end until the streamer's", () => {
    const streamer = containerStatus("streamer", { running: { startedAt: "2030-01-01T10:00:00Z" } });
    expect(isGameReportPending(podOf({ ...ended(0, ""), initContainerStatuses: [streamer] }))).to.equal(true);
    expect(isGameReportPending(podOf(ended(0, "")))).to.equal(false);
    expect(isGameReportPending(podOf(running))).to.equal(false);
  });
});

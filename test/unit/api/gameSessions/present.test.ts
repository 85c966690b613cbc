import { expect } from "chai";
import type { PublicStatus } from "#contracts/crd/sessionState.ts";
import { currentStatus, presentStop } from "#api/gameSessions/present.ts";
import { aCondition, aGameSession, aRunningStatus } from "#test/factories/gameSession.ts";

const running = aGameSession({ status: aRunningStatus() });
const stopping = aGameSession({ spec: { desiredState: "Stopped" }, status: aRunningStatus() });
const finished = aGameSession({ status: aRunningStatus({ conditions: [aCondition("Finished")] }) });

describe("currentStatus", () => {
  it("prefers the cluster's status where the row lags behind", () => {
    expect(currentStatus({ status: "starting" }, running)).to.equal("running");
    expect(currentStatus({ status: "running" }, stopping)).to.equal("stopping");
  });

  it("shows a session as ended only when its result can be read", () => {
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
      durationSeconds: 1.23456,
      cpuSeconds: null,
      peakMemoryMb: 300,
      saveNotice: null,
      failureReason: null,
      stream: aGameSession().spec.stream,
    } as const;
    expect(presentStop(row)).to.deep.equal({
      status: "stopped",
      duration: 1.23,
      cpuSeconds: 0,
      peakMemoryMb: 300,
    });
    expect(presentStop(undefined)).to.deep.equal({ status: "stopping" });
  });
});

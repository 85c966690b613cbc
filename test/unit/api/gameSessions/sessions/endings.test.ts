import { expect } from "chai";
import type { PlannedEnd } from "#contracts/crd/gameSessionSpec.ts";
import { endingOf, nextAnnouncementMs, stoppingEndOf } from "#api/gameSessions/sessions/endings.ts";
import type { GameSessionRow } from "#api/gameSessions/sessions/gameSessionQueries.ts";
import { aGameSession, aRunningStatus } from "#test/factories/gameSession.ts";

const warnings = { expiryWarningSeconds: [60, 300], idleTimeoutSeconds: 1800 };
const ready = Date.parse("2030-01-01T00:00:00Z");

function aRow(change: Partial<GameSessionRow> = {}): GameSessionRow {
  return {
    id: "gs-a",
    status: "running",
    gameSlug: "game",
    gameTitle: "Game",
    startedAt: new Date(ready),
    readyAt: new Date(ready),
    expiresAt: inSeconds(1800),
    stopReason: null,
    stoppingAt: null,
    durationSeconds: null,
    cpuSeconds: null,
    peakMemoryMb: null,
    saveNotice: null,
    fullFolders: [],
    earlierSave: null,
    failureReason: null,
    stream: aGameSession().spec.stream,
    maxDurationSeconds: 28_800,
    playLimitEndsAt: null,
    queue: null,
    ...change,
  };
}

function inSeconds(seconds: number): Date {
  return new Date(ready + seconds * 1000);
}

function endingAt(seconds: number, row = aRow(), session = aGameSession()): string | undefined {
  const ending = endingOf(row, session, warnings, inSeconds(seconds).getTime());
  return (
    ending && `${ending.reason} ${(Date.parse(ending.at) - ready) / 1000} ${ending.message ?? ""}`.trim()
  );
}

describe("endingOf", () => {
  const planned = (seconds: number, reason: PlannedEnd["reason"] = "Drained") =>
    aGameSession({
      spec: { plannedEnd: { at: inSeconds(seconds).toISOString(), reason, message: "Disks." } },
    });

  it("returns nothing while no end is near", () => {
    expect(endingAt(0)).to.equal(undefined);
    expect(endingAt(1499)).to.equal(undefined);
  });

  it("returns the idle expiry from the first warning on", () => {
    expect(endingAt(1500)).to.equal("idle_timeout 1800");
  });

  it("returns the play limit that shortens the session", () => {
    const row = aRow({ expiresAt: null, maxDurationSeconds: 3600, playLimitEndsAt: inSeconds(3600) });
    expect(endingAt(2699, row)).to.equal(undefined);
    expect(endingAt(2700, row)).to.equal("play_limit 3600");
  });

  it("returns the maximum duration a quarter of an hour before", () => {
    const row = aRow({ expiresAt: inSeconds(40_000) });
    expect(endingAt(27_899, row)).to.equal(undefined);
    expect(endingAt(27_900, row)).to.equal("max_duration 28800");
  });

  it("returns an end that an admin has planned at once, with the admin's message", () => {
    expect(endingAt(0, aRow(), planned(7200))).to.equal("drained 7200 Disks.");
    expect(endingAt(0, aRow(), planned(7200, "Maintenance"))).to.equal("maintenance 7200 Disks.");
    expect(endingAt(0, aRow(), planned(60, "Deleted"))).to.equal("deleted 60 Disks.");
  });

  it("returns the earliest of several", () => {
    expect(endingAt(1600, aRow(), planned(7200))).to.equal("idle_timeout 1800");
    expect(endingAt(1600, aRow(), planned(1700))).to.equal("drained 1700 Disks.");
  });

  it("returns the end that the operator foresees without input", () => {
    const session = aGameSession({ status: aRunningStatus({ idleEndsAt: inSeconds(900).toISOString() }) });
    expect(endingAt(700, aRow(), session)).to.equal("idle_timeout 900");
  });

  it("returns nothing of a session that is stopping", () => {
    expect(endingAt(1700, aRow({ status: "stopping" }), planned(7200))).to.equal(undefined);
  });
});

describe("stoppingEndOf", () => {
  const stopping = (stopReason: string | null, change: Partial<GameSessionRow> = {}) =>
    stoppingEndOf(aRow({ status: "stopping", stopReason, stoppingAt: inSeconds(600), ...change }), undefined);

  it("returns why and since when a session stops", () => {
    const at = inSeconds(600).toISOString();
    expect(stopping("IdleTimeout")).to.deep.equal({ reason: "idle_timeout", at });
    expect(stopping("MaxDuration")).to.deep.equal({ reason: "max_duration", at });
    expect(stopping("MaxDuration", { playLimitEndsAt: inSeconds(600) })).to.include({ reason: "play_limit" });
    expect(stopping("Deleted")).to.deep.equal({ reason: "deleted", at });
  });

  it("returns nothing of an end that the player or the game asked for, or before the game runs", () => {
    expect(stopping("UserRequested")).to.equal(undefined);
    expect(stopping("GameExited")).to.equal(undefined);
    expect(stopping("IdleTimeout", { readyAt: null })).to.equal(undefined);
    expect(stopping(null)).to.equal(undefined);
  });

  it("returns an admin's deletion before the operator and the recorder have seen it", () => {
    const deletionTimestamp = inSeconds(30).toISOString();
    const session = aGameSession({ metadata: { deletionTimestamp } });
    expect(stoppingEndOf(aRow(), session)).to.deep.equal({ reason: "deleted", at: deletionTimestamp });
  });

  it("returns the message of a planned end", () => {
    const plannedEnd = { at: inSeconds(60).toISOString(), reason: "Drained" as const, message: "Disks." };
    const stoppingAt = inSeconds(61).toISOString();
    const session = aGameSession({
      spec: { plannedEnd },
      status: aRunningStatus({ stopReason: "Drained", stoppingAt }),
    });
    expect(stoppingEndOf(aRow(), session)).to.deep.equal({
      reason: "drained",
      at: stoppingAt,
      message: "Disks.",
    });
  });
});

describe("nextAnnouncementMs", () => {
  it("returns when the next end is announced", () => {
    const nextAt = (seconds: number): number | undefined => {
      const next = nextAnnouncementMs(aRow(), aGameSession(), warnings, inSeconds(seconds).getTime());
      return next === undefined ? undefined : (next - ready) / 1000;
    };
    expect(nextAt(0)).to.equal(1500);
    expect(nextAt(1500)).to.equal(27_900);
    expect(nextAt(27_900)).to.equal(undefined);
  });
});

import { expect } from "chai";
import { ApiError } from "#web/client/apiError.ts";
import {
  isFinal,
  pollPauseMs,
  newerStatus,
  knownSession,
  keepalivePauseMs,
} from "#web/play/gameSessionStatus.ts";
import type { GameSessionStatusResponse } from "#contracts/http/gameSessions.ts";

describe("keepalivePauseMs", () => {
  it("is a minute while the idle timeout is far away", () => {
    expect(keepalivePauseMs(30 * 60_000)).to.equal(60_000);
  });

  it("is a third of the time left when the idle timeout is short", () => {
    expect(keepalivePauseMs(45_000)).to.equal(15_000);
  });

  it("is never shorter than five seconds", () => {
    expect(keepalivePauseMs(3_000)).to.equal(5_000);
    expect(keepalivePauseMs(-60_000)).to.equal(5_000);
  });
});

describe("knownSession", () => {
  const session = { status: "running" } as const;

  it("returns the session that was last read, even while requests fail", () => {
    expect(knownSession(session, null)).to.equal(session);
    expect(knownSession(session, new ApiError("unreachable", ""))).to.equal(session);
  });

  it("returns undefined once the session is not found", () => {
    expect(knownSession(session, new ApiError("not_found", ""))).to.equal(undefined);
  });
});

describe("newerStatus", () => {
  function session(
    status: GameSessionStatusResponse["status"],
    stage?: GameSessionStatusResponse["stage"],
  ): GameSessionStatusResponse {
    return {
      sessionId: "gs-a",
      status,
      serverUrl: null,
      containerUrl: null,
      gameTitle: "Game",
      startedAt: "2030-01-01T00:00:00.000Z",
      ...(stage && { stage }),
    };
  }

  it("returns the received report when its status is the same or later", () => {
    expect(newerStatus(undefined, session("stopped")).status).to.equal("stopped");
    expect(newerStatus(session("starting", "scheduling"), session("starting", "booting")).stage).to.equal(
      "booting",
    );
    expect(newerStatus(session("running"), session("error")).status).to.equal("error");
  });

  it("returns the known report when the received status is earlier", () => {
    expect(newerStatus(session("running"), session("starting", "booting")).status).to.equal("running");
    expect(newerStatus(session("stopped"), session("stopping")).status).to.equal("stopped");
  });
});

describe("pollPauseMs", () => {
  const unreachable = new ApiError("unreachable", "");

  it("is two seconds while the session starts, and before its status is known", () => {
    expect(pollPauseMs({ session: undefined, error: null, isSubscribed: false })).to.equal(2_000);
    expect(
      pollPauseMs({ session: { status: "starting" }, error: unreachable, isSubscribed: false }),
    ).to.equal(2_000);
  });

  it("is longer while the game runs, and longest while events arrive", () => {
    expect(pollPauseMs({ session: { status: "running" }, error: null, isSubscribed: false })).to.equal(
      10_000,
    );
    expect(pollPauseMs({ session: { status: "running" }, error: null, isSubscribed: true })).to.equal(60_000);
  });

  it("is at most ten seconds while a player waits, even with events, because their connection may break silently", () => {
    for (const status of ["starting", "stopping"] as const)
      expect(pollPauseMs({ session: { status }, error: null, isSubscribed: true })).to.equal(10_000);
  });

  it("is at least Retry-After, up to a minute", () => {
    const pauseAfter = (retryAfterSeconds: number): number | false =>
      pollPauseMs({
        session: { status: "starting" },
        error: new ApiError("rate_limited", "", { retryAfterSeconds }),
        isSubscribed: false,
      });
    expect([1, 30, 3_600].map(pauseAfter)).to.deep.equal([2_000, 30_000, 60_000]);
  });

  it("is false once the session has ended or cannot be read", () => {
    for (const status of ["stopped", "error"] as const)
      expect(pollPauseMs({ session: { status }, error: null, isSubscribed: true })).to.equal(false);
    for (const code of ["not_found", "unauthorized"] as const) {
      expect(
        pollPauseMs({ session: { status: "running" }, error: new ApiError(code, ""), isSubscribed: false }),
      ).to.equal(false);
    }
  });
});

describe("isFinal", () => {
  it("is false while the session continues, even if a request failed", () => {
    expect(isFinal({ status: "stopping" }, new ApiError("unavailable", ""))).to.equal(false);
  });
});

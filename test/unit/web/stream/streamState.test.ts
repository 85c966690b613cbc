import { expect } from "chai";
import {
  isInPlay,
  isStillStarting,
  toOutcome,
  stateAfter,
  type StreamState,
} from "#web/stream/streamState.ts";

describe("stateAfter", () => {
  it("returns no state after a loss, for another attempt, until two minutes have passed", () => {
    expect(stateAfter({ kind: "lost", isReachable: false }, 0)).to.equal(undefined);
    expect(stateAfter({ kind: "connectFailed", code: "not_ready", message: "" }, 60_000)).to.equal(undefined);
    expect(stateAfter({ kind: "connectFailed", code: "unreachable", message: "" }, 120_000)).to.include({
      phase: "failed",
      code: "gave_up",
    });
  });

  it("fails with no_path once it gives up, if the streamer answered and no packet got through", () => {
    expect(stateAfter({ kind: "noPath" }, 60_000)).to.equal(undefined);
    expect(stateAfter({ kind: "noPath" }, 120_000)).to.include({ phase: "failed", code: "no_path" });
  });

  it("is occupied when another tab plays", () => {
    expect(stateAfter({ kind: "connectFailed", code: "viewer_active", message: "" }, 0)).to.deep.equal({
      phase: "occupied",
    });
  });

  it("is takenOver after another tab took the stream", () => {
    expect(stateAfter({ kind: "takenOver" }, 0)).to.deep.equal({ phase: "takenOver" });
  });

  it("fails at once when another attempt would have the same result", () => {
    expect(stateAfter({ kind: "connectFailed", code: "invalid_offer", message: "No." }, 0)).to.deep.equal({
      phase: "failed",
      code: "invalid_offer",
      message: "No.",
    });
  });

  it("returns no state for errors that the session's status explains, until two minutes have passed", () => {
    for (const code of ["unauthorized", "not_found", "not_running"] as const) {
      const outcome = { kind: "connectFailed", code, message: "Gone." } as const;
      expect(stateAfter(outcome, 0), code).to.equal(undefined);
      expect(stateAfter(outcome, 120_000), code).to.include({ phase: "failed", code: "gave_up" });
    }
  });

  it("counts as in play from the first connection until the player must act or the game ends", () => {
    const during: StreamState[] = [
      { phase: "connected" },
      { phase: "connecting", isReconnect: true },
      { phase: "waiting", retryInMs: 500, isReconnect: true },
    ];
    const outside: StreamState[] = [
      { phase: "idle" },
      { phase: "connecting", isReconnect: false },
      { phase: "waiting", retryInMs: 500, isReconnect: false },
      { phase: "occupied" },
      { phase: "takenOver" },
      { phase: "ended", notice: { t: "ended", by: "game", reason: "exited", exitCode: 0 } },
      { phase: "failed", code: "gave_up", message: "" },
    ];
    expect([during.every(isInPlay), outside.some(isInPlay)]).to.deep.equal([true, false]);
  });

  it("counts as starting only if the session is not ready yet", () => {
    expect(isStillStarting({ kind: "connectFailed", code: "not_ready", message: "" })).to.equal(true);
    expect(isStillStarting({ kind: "connectFailed", code: "unreachable", message: "" })).to.equal(false);
    expect(isStillStarting({ kind: "lost", isReachable: false })).to.equal(false);
  });

  it("has an outcome only for notices that end a connection", () => {
    expect(toOutcome({ t: "taken-over" })).to.deep.equal({ kind: "takenOver" });
    expect(toOutcome({ t: "pong", n: 1 })).to.equal(undefined);
    const notice = { t: "ended", by: "game", reason: "exited", exitCode: 0 } as const;
    expect(toOutcome(notice)).to.deep.equal({ kind: "ended", notice });
  });
});

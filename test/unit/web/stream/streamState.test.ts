import { expect } from "chai";
import { isStillStarting, outcomeOf, stateAfter } from "../../../../web/src/stream/streamState.ts";

describe("stateAfter", () => {
  it("tries again after a loss, for two minutes", () => {
    expect(stateAfter({ kind: "lost" }, 0)).to.equal(undefined);
    expect(stateAfter({ kind: "unreached", code: "not_ready", message: "" }, 60_000)).to.equal(undefined);
    expect(stateAfter({ kind: "unreached", code: "unreachable", message: "" }, 120_000)).to.include({ phase: "failed", code: "gave_up" });
  });

  it("asks before it takes the stream from another tab", () => {
    expect(stateAfter({ kind: "unreached", code: "viewer_active", message: "" }, 0)).to.deep.equal({ phase: "occupied" });
  });

  it("does not come back by itself after another tab took over", () => {
    expect(stateAfter({ kind: "takenOver" }, 0)).to.deep.equal({ phase: "takenOver" });
  });

  it("gives up at once when another try would change nothing", () => {
    expect(stateAfter({ kind: "unreached", code: "not_found", message: "Gone." }, 0)).to.deep.equal({ phase: "failed", code: "not_found", message: "Gone." });
  });

  it("knows a session that only needs more time", () => {
    expect(isStillStarting({ kind: "unreached", code: "not_ready", message: "" })).to.equal(true);
    expect(isStillStarting({ kind: "unreached", code: "unreachable", message: "" })).to.equal(false);
    expect(isStillStarting({ kind: "lost" })).to.equal(false);
  });

  it("knows the notices that end a connection", () => {
    expect(outcomeOf({ t: "taken-over" })).to.deep.equal({ kind: "takenOver" });
    expect(outcomeOf({ t: "pong", n: 1 })).to.equal(undefined);
    const notice = { t: "ended", by: "game", reason: "exited", exitCode: 0 } as const;
    expect(outcomeOf(notice)).to.deep.equal({ kind: "ended", notice });
  });
});

import { expect } from "chai";
import { ApiError } from "#web/client/apiError.ts";
import { isFinal, pollPauseMs } from "#web/play/pollPause.ts";

describe("pollPauseMs", () => {
  const unreachable = new ApiError("unreachable", "");

  it("is two seconds while the session starts, and before its status is known", () => {
    expect(pollPauseMs({ session: undefined, error: null, isSubscribed: false })).to.equal(2_000);
    expect(
      pollPauseMs({ session: { status: "starting" }, error: unreachable, isSubscribed: false }),
    ).to.equal(2_000);
  });

  it("is longer while the game runs, and longest while events come as well", () => {
    expect(pollPauseMs({ session: { status: "running" }, error: null, isSubscribed: false })).to.equal(
      10_000,
    );
    expect(pollPauseMs({ session: { status: "running" }, error: null, isSubscribed: true })).to.equal(60_000);
  });

  it("is no longer than ten seconds while a player waits, even where events come: their connection may break without a word", () => {
    for (const status of ["starting", "stopping"] as const)
      expect(pollPauseMs({ session: { status }, error: null, isSubscribed: true })).to.equal(10_000);
  });

  it("is not shorter than a Retry-After, up to a minute", () => {
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
  it("is false while the session goes on, even if a request failed", () => {
    expect(isFinal({ status: "stopping" }, new ApiError("unavailable", ""))).to.equal(false);
  });
});

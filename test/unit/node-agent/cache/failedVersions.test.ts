import { expect } from "chai";
import { FailedVersions, type Failure } from "#node-agent/cache/failedVersions.ts";
import { FakeClock } from "#test/support/clocks/fakeClock.ts";

const unreachable: Failure = { reason: "StoreUnreachable", message: "", etag: undefined, isFinal: false };

describe("FailedVersions", () => {
  it("has no next retry without a failure", () => {
    expect(new FailedVersions(new FakeClock(), () => 0).msToNextTry(0)).to.equal(undefined);
  });

  it("waits for the first version not yet due, and for no due one", async () => {
    const clock = new FakeClock();
    const failed = new FailedVersions(clock, () => 0);
    failed.add("first", unreachable);
    await clock.advance(100);
    failed.add("second", unreachable);
    expect(failed.msToNextTry(100)).to.equal(400);
    await clock.advance(450);
    expect(failed.isWaiting("first")).to.equal(false);
    expect(failed.msToNextTry(550), "the first is being tried").to.equal(50);
    await clock.advance(450);
    expect(failed.msToNextTry(1000), "both are").to.equal(undefined);
  });

  it("includes a version that has become due since the given time", async () => {
    const clock = new FakeClock();
    const failed = new FailedVersions(clock, () => 0);
    failed.add("first", unreachable);
    await clock.advance(520);
    expect(failed.msToNextTry(490)).to.equal(-20);
    expect(failed.msToNextTry(500), "due at that very moment").to.equal(undefined);
  });

  it("hides a fill's failure while a launch retries the version", () => {
    const clock = new FakeClock();
    const failed = new FailedVersions(clock, () => 0);
    const full: Failure = { ...unreachable, reason: "InsufficientSpace" };
    failed.add("fill", full);
    expect(failed.reportableFailure("fill")).to.equal(full);
    failed.retryNow("fill");
    expect(failed.isWaiting("fill")).to.equal(false);
    expect(failed.reportableFailure("fill")).to.equal(undefined);
    failed.add("fill", full);
    expect(failed.reportableFailure("fill")).to.equal(full);
  });

  it("keeps reporting a version whose bytes are known to be bad", () => {
    const failed = new FailedVersions(new FakeClock(), () => 0);
    const bad: Failure = { ...unreachable, reason: "ArchiveRefused", isFinal: true };
    failed.add("bad", bad);
    failed.retryNow("bad");
    expect(failed.reportableFailure("bad")).to.equal(bad);
  });
});

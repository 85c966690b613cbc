import { expect } from "chai";
import {
  afterFailure,
  type Attempts,
  type Failure,
  quarantineCheckMs,
} from "#node-agent/cache/failedVersions.ts";

const mismatch: Failure = { reason: "ChecksumMismatch", message: "", etag: "1", isFinal: false };
const failing = (...failures: Failure[]): Attempts => {
  let known: Attempts | undefined;
  for (const failure of failures) known = afterFailure(known, failure, 1000, () => 0);
  if (known === undefined) throw new Error("No failure was given.");
  return known;
};

describe("afterFailure", () => {
  it("increases the delay each time", () => {
    expect(failing(mismatch).retryAtMs).to.equal(1500);
    expect(failing(mismatch, mismatch).retryAtMs).to.equal(2000);
  });

  it("quarantines the same object at the third strike", () => {
    expect(failing(mismatch, mismatch).isQuarantined).to.equal(false);
    const given = failing(mismatch, mismatch, mismatch);
    expect(given.isQuarantined).to.equal(true);
    expect(given.retryAtMs).to.equal(1000 + quarantineCheckMs);
  });

  it("restarts the count if the object was replaced", () => {
    expect(failing(mismatch, mismatch, { ...mismatch, etag: "2" })).to.include({
      strikes: 1,
      isQuarantined: false,
    });
  });

  it("never quarantines because of an unreachable store", () => {
    const unavailable: Failure = { ...mismatch, reason: "StoreUnreachable" };
    expect(failing(...Array.from({ length: 20 }, () => unavailable))).to.include({
      strikes: 0,
      isQuarantined: false,
    });
  });

  it("retries at once without reporting when the disk is full for the first time", () => {
    const full: Failure = { ...mismatch, reason: "InsufficientSpace", ranOut: true };
    expect(failing(full)).to.include({ retryAtMs: 1000, isUnreported: true });
    expect(failing(full, full)).to.include({ retryAtMs: 2000, isUnreported: false });
    expect(failing(mismatch)).to.include({ isUnreported: false });
  });

  it("quarantines at once if intact bytes violate the archive's rules", () => {
    expect(failing({ ...mismatch, reason: "ArchiveRefused", isFinal: true }).isQuarantined).to.equal(true);
  });
});

import { expect } from "chai";
import { LocalLockout } from "#api/auth/lockout.ts";

const rules = { failures: 3, windowMs: 1000, lockMs: [100, 500], memoryMs: 10_000, undecidedMs: 50 };

describe("LocalLockout", () => {
  let lockout: LocalLockout;
  let attempts: number;
  beforeEach(() => {
    lockout = new LocalLockout(rules);
    attempts = 0;
  });

  /** An attempt that fails at once, if it may be made. */
  function begin(now: number, subject = "a"): number | undefined {
    const attempt = `attempt-${attempts++}`;
    const lockedMs = lockout.begin(subject, attempt, now);
    lockout.fail(subject, attempt);
    return lockedMs;
  }

  it("allows the configured number of attempts and locks with the last of them", () => {
    expect([begin(0), begin(1), begin(2)]).to.deep.equal([0, 0, 0]);
    expect([begin(3), begin(101)]).to.deep.equal([99, 1]);
    expect(begin(3, "b")).to.equal(0);
  });

  it("allows all attempts after a lock, and locks longer each time, up to the longest duration", () => {
    for (const [start, lock] of [
      [0, 100],
      [100, 500],
      [600, 500],
    ] as const) {
      expect([begin(start), begin(start), begin(start)]).to.deep.equal([0, 0, 0]);
      expect(begin(start)).to.equal(lock);
    }
  });

  it("forgets failures outside the window, and the lock level after its expiry", () => {
    begin(0);
    begin(0);
    expect([begin(1000), begin(1000)]).to.deep.equal([0, 0]);
    begin(1000);
    expect(begin(1000)).to.equal(100);
    for (const now of [11_000, 11_000, 11_000]) begin(now);
    expect(begin(11_000)).to.equal(100);
  });

  it("does not count an attempt that is taken back, even if it locked", () => {
    begin(0);
    begin(0);
    lockout.begin("a", "last", 0);
    expect(begin(1)).to.equal(undefined);
    lockout.takeBack("a", "last");
    expect(begin(1)).to.equal(0);
    expect(begin(1)).to.equal(100);
    lockout.takeBack("unknown", "x");
  });

  it("is unlocked when attempts that caused the lock are taken back, in any order, without a longer lock next time", () => {
    for (const attempt of ["one", "two", "three"]) expect(lockout.begin("a", attempt, 0)).to.equal(0);
    for (const attempt of ["one", "two"]) lockout.takeBack("a", attempt);
    lockout.fail("a", "three");
    expect([begin(1), begin(1)], "two more lock").to.deep.equal([0, 0]);
    expect(begin(1), "for as long as at first").to.equal(100);
  });

  it("keeps the level of an expired lock when earlier or later attempts are taken back", () => {
    for (const attempt of ["one", "two", "three"]) expect(lockout.begin("a", attempt, 0)).to.equal(0);
    expect(lockout.begin("a", "since", 100)).to.equal(0);
    for (const attempt of ["one", "since"]) lockout.takeBack("a", attempt);
    for (const now of [100, 100, 100]) begin(now);
    expect(begin(100), "the second lock").to.equal(500);
  });

  it("returns undefined until the counted attempts are decided or too old", () => {
    for (const attempt of ["one", "two", "three"]) expect(lockout.begin("a", attempt, 0)).to.equal(0);
    for (const attempt of ["one", "two", "three"]) {
      expect(begin(1)).to.equal(undefined);
      lockout.fail("a", attempt);
    }
    expect(begin(1)).to.equal(99);
    for (const attempt of ["four", "five", "six"]) expect(lockout.begin("a", attempt, 100)).to.equal(0);
    expect([begin(149), begin(150)]).to.deep.equal([undefined, 450]);
  });

  it("forgets everything after a success", () => {
    for (const now of [0, 0, 0]) begin(now);
    lockout.forget("a");
    expect([begin(0), begin(0)]).to.deep.equal([0, 0]);
  });

  it("forgets what came before a success elsewhere, its level and its lock included, but not the attempt that has found out", () => {
    for (const now of [0, 0, 0]) begin(now);
    expect(begin(1)).to.equal(99);
    for (const now of [100, 100]) begin(now);
    expect(lockout.begin("a", "last", 120), "and locks here").to.equal(0);
    lockout.recordRemoteSuccess("a", "last", 110);
    lockout.fail("a", "last");
    expect(
      [begin(130), begin(130), begin(130)],
      "two more failures lock, for as long as at first",
    ).to.deep.equal([0, 0, 100]);
  });

  it("stays locked by enough failures since a success at another process", () => {
    begin(0);
    for (const now of [20, 20]) begin(now);
    lockout.recordRemoteSuccess("a", "of another replica", 10);
    expect(begin(21), "locked by an earlier attempt").to.equal(99);
    for (const now of [130, 130]) begin(now);
    lockout.begin("a", "last", 130);
    lockout.recordRemoteSuccess("a", "last", 125);
    lockout.fail("a", "last");
    expect(begin(131), "locked by the attempt that has found out").to.be.above(0);
  });

  it("applies each success at another process once", () => {
    lockout.begin("a", "first", 0);
    lockout.recordRemoteSuccess("a", "first", 0);
    lockout.fail("a", "first");
    for (const now of [0, 0]) begin(now);
    lockout.recordRemoteSuccess("a", "another", 0);
    expect(begin(1)).to.equal(99);
    lockout.recordRemoteSuccess("unknown", "x", 5);
  });

  it("keeps a bounded number of subjects, and drops the least recently used", () => {
    for (const now of [0, 0, 0]) begin(now, "first");
    for (let index = 0; index < 10_000; index += 1) begin(1, `subject-${index}`);
    expect(begin(2, "first")).to.equal(0);
    for (const now of [2, 2]) begin(now, "first");
    for (let index = 0; index < 9_999; index += 1) begin(3, `other-${index}`);
    expect(begin(4, "first")).to.equal(98);
  });
});

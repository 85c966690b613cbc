import { expect } from "chai";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { Passwords } from "../../../../api/src/auth/passwords.ts";
import { HttpError } from "../../../../api/src/errors.ts";

describe("Passwords", function () {
  this.timeout(60_000);
  const passwords = new Passwords({ pepper: "some pepper of tests", cost: 4, workers: 2 });
  after(() => passwords.close());

  it("knows the password that a hash is of, all of it", async () => {
    const long = "a".repeat(72);
    const hash = await passwords.hash(`${long}x`);
    expect(hash).to.match(/^\$2b\$04\$/);
    expect(await passwords.check(`${long}x`, hash)).to.deep.equal({ isEqual: true, shouldRehash: false });
    for (const wrong of [long, `${long}y`, `${long}x\u0000`, `\u0000${long}x`, ""]) {
      expect((await passwords.check(wrong, hash)).isEqual, JSON.stringify(wrong)).to.be.false;
    }
    expect(await passwords.hash(`${long}x`)).to.not.equal(hash);
  });

  it("is of no use without the pepper", async () => {
    const other = new Passwords({ pepper: "another pepper, same cost", cost: 4, workers: 1 });
    try {
      expect((await other.check("secret", await passwords.hash("secret"))).isEqual).to.be.false;
    } finally {
      await other.close();
    }
  });

  it("asks for a new hash when the cost has changed, and never without the right password", async () => {
    const costlier = new Passwords({ pepper: "some pepper of tests", cost: 5, workers: 1 });
    try {
      const old = await passwords.hash("secret");
      expect(await costlier.check("secret", old)).to.deep.equal({ isEqual: true, shouldRehash: true });
      expect(await costlier.check("wrong", old)).to.deep.equal({ isEqual: false, shouldRehash: false });
    } finally {
      await costlier.close();
    }
  });

  it("says no for an account without a hash, and not because of a broken one", async () => {
    expect(await passwords.check("", null)).to.deep.equal({ isEqual: false, shouldRehash: false });
    expect((await passwords.check("x", "not a hash")).isEqual).to.be.false;
  });

  it("refuses what does not fit into the queue with 503, and does the rest", async () => {
    const pool = new Passwords({ pepper: "some pepper of tests", cost: 8, workers: 1 });
    try {
      const outcomes = await Promise.allSettled(Array.from({ length: 40 }, () => pool.hash("secret")));
      const refused = outcomes.filter((outcome) => outcome.status === "rejected");
      expect(refused).to.have.length(7); // One at work, 32 waiting.
      for (const { reason } of refused) expect(reason).to.be.instanceOf(HttpError).and.include({ code: "unavailable", status: 503 });
    } finally {
      await pool.close();
    }
  });

  it("keeps the event loop free while it works", async () => {
    const costly = new Passwords({ pepper: "some pepper of tests", cost: 11, workers: 1 });
    const delay = monitorEventLoopDelay({ resolution: 5 });
    try {
      await costly.warmUp();
      delay.enable();
      await Promise.all(Array.from({ length: 5 }, () => costly.check("wrong", null)));
      delay.disable();
      expect(delay.percentile(50) / 1e6, "median delay in ms; one check on this thread takes more than 50").to.be.lessThan(40);
    } finally {
      await costly.close();
    }
  });
});

import { setImmediate } from "node:timers/promises";
import bcrypt from "bcryptjs";
import { expect } from "chai";
import { Passwords, importedHash } from "#api/auth/passwords.ts";
import { DomainError } from "#api/errors.ts";

describe("Passwords", function () {
  this.timeout(60_000);
  const passwords = new Passwords({ pepper: "some pepper of tests", cost: 4, workers: 2 });
  after(() => passwords.close());

  it("compares every byte of the password with its hash", async () => {
    const long = "a".repeat(72);
    const hash = await passwords.hash(`${long}x`);
    expect(hash).to.match(/^\$2b\$04\$/);
    expect(await passwords.check(`${long}x`, hash)).to.deep.equal({ isEqual: true, shouldRehash: false });
    for (const wrong of [long, `${long}y`, `${long}x\u0000`, `\u0000${long}x`, ""]) {
      expect((await passwords.check(wrong, hash)).isEqual, JSON.stringify(wrong)).to.be.false;
    }
    expect(await passwords.hash(`${long}x`)).to.not.equal(hash);
  });

  it("accepts no password with another pepper", async () => {
    const other = new Passwords({ pepper: "another pepper, same cost", cost: 4, workers: 1 });
    try {
      expect((await other.check("secret", await passwords.hash("secret"))).isEqual).to.be.false;
    } finally {
      await other.close();
    }
  });

  it("requests a rehash if the cost has changed, and never for a wrong password", async () => {
    const costlier = new Passwords({ pepper: "some pepper of tests", cost: 5, workers: 1 });
    try {
      const old = await passwords.hash("secret");
      expect(await costlier.check("secret", old)).to.deep.equal({ isEqual: true, shouldRehash: true });
      expect(await costlier.check("wrong", old)).to.deep.equal({ isEqual: false, shouldRehash: false });
    } finally {
      await costlier.close();
    }
  });

  describe("imported from another platform", () => {
    const importing = async (password: string, cost = 4): Promise<string> =>
      importedHash(await bcrypt.hash(password, cost))!.stored;

    it("are compared without the pepper, and request a rehash with it", async () => {
      for (const password of ["correct horse", "x", "\u{1f3ae}".repeat(18)]) {
        const stored = await importing(password);
        expect(await passwords.check(password, stored)).to.deep.equal({ isEqual: true, shouldRehash: true });
        expect(await passwords.check(`${password.slice(0, -1)}y`, stored)).to.deep.equal({
          isEqual: false,
          shouldRehash: false,
        });
      }
    });

    it("do not match by only their first 72 bytes, or by the bytes before a NUL", async () => {
      const stored = await importing("a".repeat(72));
      expect((await passwords.check("a".repeat(72), stored)).isEqual).to.be.true;
      for (const longer of [`${"a".repeat(72)}b`, "a".repeat(73), `${"a".repeat(71)}\u00e4`])
        expect((await passwords.check(longer, stored)).isEqual).to.be.false;
      expect(
        (await passwords.check("\u{1f3ae}".repeat(19), await importing("\u{1f3ae}".repeat(19)))).isEqual,
        "76 bytes",
      ).to.be.false;
      expect((await passwords.check("ab\u0000ab", await importing("ab"))).isEqual).to.be.false;
    });

    it("are accepted only in bcrypt's three formats", async () => {
      const hash = await bcrypt.hash("correct horse", 4);
      for (const kind of ["$2a$", "$2b$", "$2y$"]) {
        expect(
          (await passwords.check("correct horse", importedHash(hash.replace("$2b$", kind))!.stored)).isEqual,
          kind,
        ).to.be.true;
      }
      for (const wrong of [
        "",
        hash.slice(0, -1),
        `${hash}x`,
        hash.replace("$2b$", "$2x$"),
        hash.replace("$04$", "$4$"),
        `imported:${hash}`,
        hash.replace(/.$/, "\n"),
      ]) {
        expect(importedHash(wrong), wrong).to.be.undefined;
      }
    });

    it("are refused after as many rounds of bcrypt as others, even if their cost is lower", async () => {
      const rounds: number[] = [];
      const costlier = new Passwords({
        pepper: "some pepper of tests",
        cost: 7,
        workers: 1,
        onRounds: (count) => rounds.push(count),
      });
      try {
        for (const stored of [await importing("secret", 5), await costlier.hash("secret"), null])
          await costlier.check("wrong", stored);
        // Of the own hash, of three checks, and of the dummy that replaces the missing hash.
        expect(rounds).to.deep.equal(Array<number>(5).fill(2 ** 7));
      } finally {
        await costlier.close();
      }
    });
  });

  it("refuses an account without a hash, and one with a broken hash", async () => {
    expect(await passwords.check("", null)).to.deep.equal({ isEqual: false, shouldRehash: false });
    expect((await passwords.check("x", "not a hash")).isEqual).to.be.false;
  });

  it("refuses work beyond the queue's length with 503, and runs the rest", async () => {
    const pool = new Passwords({ pepper: "some pepper of tests", cost: 4, workers: 1 });
    try {
      const outcomes = await Promise.allSettled(Array.from({ length: 40 }, () => pool.hash("secret")));
      const refused = outcomes.filter((outcome) => outcome.status === "rejected");
      expect(refused).to.have.length(7); // One at work, 32 waiting.
      for (const { reason } of refused)
        expect(reason).to.be.instanceOf(DomainError).and.include({ code: "unavailable" });
    } finally {
      await pool.close();
    }
  });

  it("keeps the event loop free while it works", async () => {
    const costly = new Passwords({ pepper: "some pepper of tests", cost: 9, workers: 1 });
    try {
      await costly.warmUp();
      let [isDone, turns] = [false, 0];
      const checked = Promise.all(Array.from({ length: 5 }, () => costly.check("wrong", null))).finally(
        () => (isDone = true),
      );
      while (!isDone) {
        await setImmediate();
        turns++;
      }
      await checked;
      expect(turns, "turns of the event loop; a few if it computed the hashes itself").to.be.above(50);
    } finally {
      await costly.close();
    }
  });
});

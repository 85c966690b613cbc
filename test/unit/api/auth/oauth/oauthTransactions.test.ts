import { expect } from "chai";
import { randomBytes } from "node:crypto";
import { OAuthTransactions, transactionIdOf } from "#api/auth/oauth/oauthTransactions.ts";
import { FakeClock } from "#test/support/clocks/fakeClock.ts";

const transaction = {
  provider: "p",
  state: "s",
  nonce: "n",
  verifier: "v",
  callbackUrl: "https://play.test/",
  linkTo: "l",
};

describe("OAuthTransactions", () => {
  const key = randomBytes(32);
  let clock: FakeClock;
  let transactions: OAuthTransactions;

  beforeEach(() => {
    clock = new FakeClock();
    transactions = new OAuthTransactions(new Map([["a", key]]), clock);
  });

  it("opens sealed transactions under the same name for ten minutes", async () => {
    const { value, expiresAt } = transactions.seal("x", transaction);
    expect(expiresAt.getTime() - clock.now().getTime()).to.equal(600_000);
    expect(transactions.open("x", value)).to.deep.include(transaction);
    expect(transactions.open("y", value)).to.equal(undefined);
    await clock.advance(599_999);
    expect(transactions.open("x", value)).to.deep.include(transaction);
    await clock.advance(1);
    expect(transactions.open("x", value)).to.equal(undefined);
  });

  it("reveals nothing, and opens nothing that was changed or forged", () => {
    const { value } = transactions.seal("x", transaction);
    expect(Buffer.from(value, "base64url").toString("latin1")).to.not.contain("play.test");
    for (let at = 0; at < value.length; at += 7) {
      const changed = value.slice(0, at) + (value[at] === "A" ? "B" : "A") + value.slice(at + 1);
      expect(transactions.open("x", changed), `changed at ${at}`).to.equal(undefined);
    }
    for (const noise of ["", "a", value.slice(0, -4), `${value}AAAA`, "A".repeat(20_000)])
      expect(transactions.open("x", noise)).to.equal(undefined);
  });

  it("opens nothing under another key, and survives a rotation", () => {
    const { value } = transactions.seal("x", transaction);
    const other = randomBytes(32);
    expect(new OAuthTransactions(new Map([["b", other]]), clock).open("x", value)).to.equal(undefined);
    expect(
      new OAuthTransactions(
        new Map([
          ["b", other],
          ["a", key],
        ]),
        clock,
      ).open("x", value),
    ).to.deep.include(transaction);
  });

  it("evicts the oldest ones, so that at most five and a few kilobytes remain", async () => {
    const cookies = new Map<string, string>([["broken", "x"]]);
    for (let index = 0; index < 6; index += 1) {
      cookies.set(`c${index}`, transactions.seal(`c${index}`, transaction).value);
      await clock.advance(1000);
    }
    expect(transactions.cookiesToEvict(cookies, 300)).to.have.members(["broken", "c0", "c1"]);
    const wide = new Map(
      ["w0", "w1", "w2"].map((name) => [
        name,
        transactions.seal(name, { ...transaction, callbackUrl: "u".repeat(2000) }).value,
      ]),
    );
    expect(transactions.cookiesToEvict(wide, 300)).to.have.length(1);
  });

  it("derives the cookie's name from the state without revealing the state", () => {
    expect(transactionIdOf("state"))
      .to.match(/^[A-Za-z0-9_-]{22}$/)
      .and.equal(transactionIdOf("state"));
    expect(transactionIdOf("other")).to.not.equal(transactionIdOf("state"));
  });
});

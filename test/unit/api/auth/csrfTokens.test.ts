import { expect } from "chai";
import { CsrfTokens } from "#api/auth/tokens.ts";

const [oldKey, newKey] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];

describe("CsrfTokens", () => {
  const tokens = new CsrfTokens(new Map([["old", oldKey]]));

  it("accepts only the token of its cookie", () => {
    const { token, cookie } = tokens.create();
    expect(tokens.read(cookie)).to.equal(token);
    expect(tokens.matches(cookie, token)).to.be.true;
    expect(tokens.matches(cookie, tokens.create().token)).to.be.false;
    expect(tokens.matches(cookie, undefined)).to.be.false;
    expect(tokens.matches(undefined, token)).to.be.false;
  });

  it("refuses a cookie with an invalid signature", () => {
    const { token, cookie } = tokens.create();
    const signature = cookie.slice(65);
    for (const forged of [
      "",
      token,
      `${token}|`,
      `${token}|${"0".repeat(64)}`,
      `${"0".repeat(64)}|${signature}`,
      `${cookie}x`,
      cookie.toUpperCase(),
    ]) {
      expect(tokens.read(forged), forged).to.be.undefined;
    }
  });

  it("accepts cookies of an older key, but not of a removed one", () => {
    const { token, cookie } = tokens.create();
    expect(
      new CsrfTokens(
        new Map([
          ["new", newKey],
          ["old", oldKey],
        ]),
      ).read(cookie),
    ).to.equal(token);
    expect(new CsrfTokens(new Map([["new", newKey]])).read(cookie)).to.be.undefined;
  });
});

import { expect } from "chai";
import { callbackUrlOf, signInPageUrl } from "#api/auth/callbackUrl.ts";

const config = {
  baseUrl: "https://play.test",
  allowedOrigins: new Set(["https://play.test", "https://front.test:8443"]),
};

describe("callbackUrlOf", () => {
  for (const [wished, expected] of [
    ["/", "https://play.test/"],
    ["/games/x?a=1#b", "https://play.test/games/x?a=1#b"],
    ["https://play.test/games", "https://play.test/games"],
    ["HTTPS://PLAY.TEST/A", "https://play.test/A"],
    ["https://front.test:8443/x", "https://front.test:8443/x"],
    ["/a/../b", "https://play.test/b"],
  ] as const) {
    it(`accepts ${wished}`, () => expect(callbackUrlOf(wished, config)).to.equal(expected));
  }

  for (const wished of [
    undefined,
    "",
    "games",
    "https://play.test.evil.test/",
    "https://play.test@evil.test/",
    "https://user:pass@play.test/",
    "http://play.test/",
    "https://front.test/",
    "https://play.test:444/",
    "//evil.test/",
    "///evil.test",
    "/\\evil.test",
    "https:/evil.test",
    "https:\\\\evil.test",
    "/%0d%0a\r\nX: y",
    "/a b",
    "\u0000/",
    "javascript:alert(1)//https://play.test/",
    "blob:https://play.test/x",
    "https://pl\u0430y.test/",
    "https://",
    "https://[::1",
    `/${"a".repeat(2100)}`,
  ]) {
    it(`returns the home page instead of ${JSON.stringify(wished ?? "").slice(0, 50)}`, () => {
      expect(callbackUrlOf(wished, config)).to.equal("https://play.test/");
    });
  }
});

describe("signInPageUrl", () => {
  const baseUrl = "https://play.test";

  it("carries only the given parameters, encoded", () => {
    const signInPage = { baseUrl, signInPageUrl: "https://play.test/signin" };
    expect(signInPageUrl(signInPage, { error: "A&b=c", code: undefined })).to.equal(
      "https://play.test/signin?error=A%26b%3Dc",
    );
    expect(signInPageUrl(signInPage)).to.equal("https://play.test/signin");
  });

  it("is the plain form's address if no page is configured", () => {
    expect(signInPageUrl({ baseUrl, signInPageUrl: undefined }, { error: "X" })).to.equal(
      "https://play.test/api/auth/signin?error=X",
    );
  });
});

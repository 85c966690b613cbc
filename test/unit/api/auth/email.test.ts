import { expect } from "chai";
import { isEmail, normalizeEmail } from "#api/auth/email.ts";

describe("e-mail addresses", () => {
  it("are normalized to one spelling", () => {
    for (const typed of [
      "ada@example.org",
      " Ada@Example.ORG ",
      "\uff41da@example.org",
      "ada\uff20example.org",
      "ad\u1d43@example.org",
    ]) {
      expect(normalizeEmail(typed), JSON.stringify(typed)).to.equal("ada@example.org");
    }
    expect(normalizeEmail("jose\u0301@example.org")).to.equal(normalizeEmail("jos\u00e9@example.org"));
  });

  it("are distinguished from invalid ones", () => {
    for (const address of ["ada@example.org", "a+b@x", "\u5b6b@example.org"])
      expect(isEmail(address), address).to.be.true;
    for (const none of [
      "",
      "ada",
      "@example.org",
      "ada@",
      "a b@example.org",
      "a@b@c",
      "a\0@example.org",
      "\ud800@example.org",
      `${"a".repeat(320)}@example.org`,
    ]) {
      expect(isEmail(none), JSON.stringify(none)).to.be.false;
    }
  });
});

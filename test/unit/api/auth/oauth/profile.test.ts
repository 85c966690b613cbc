import { expect } from "chai";
import { profileOfClaims, profileOfUserinfo } from "#api/auth/oauth/profile.ts";
import type { OAuthProviderConfig } from "#api/auth/oauth/providerConfig.ts";

const issuer = "https://id.test";

describe("profileOfClaims", () => {
  it("returns the subject, the normalized address, and the name and picture that can be shown", () => {
    expect(
      profileOfClaims(issuer, {
        sub: "1",
        email: " Ada@B.test",
        email_verified: true,
        name: " Ada\u0000Player ",
        picture: "https://pictures.test/a",
      }),
    ).to.deep.equal({
      issuer,
      subject: "1",
      email: "ada@b.test",
      isEmailVerified: true,
      name: "Ada Player",
      image: "https://pictures.test/a",
    });
  });

  for (const verified of ["true", 1, {}, "false", null, undefined, false]) {
    it(`treats ${JSON.stringify(verified)} as not verified`, () => {
      expect(
        profileOfClaims(issuer, { sub: "1", email: "a@b.test", email_verified: verified }).isEmailVerified,
      ).to.be.false;
    });
  }

  it("drops an invalid address, an invalid name and a picture without https", () => {
    for (const email of ["no address", 5, `${"x".repeat(300)}@b.test`, "a@b\u0000"]) {
      expect(profileOfClaims(issuer, { sub: "1", email, email_verified: true })).to.include({
        email: undefined,
        isEmailVerified: false,
      });
    }
    for (const picture of [
      "javascript:alert(1)",
      "http://a.test/",
      "https://u:p@a.test/",
      5,
      `https://a.test/${"x".repeat(2100)}`,
    ]) {
      expect(profileOfClaims(issuer, { sub: "1", picture }).image).to.equal(undefined);
    }
    expect(profileOfClaims(issuer, { sub: "1", name: "\u0000" }).name).to.equal(undefined);
    expect(profileOfClaims(issuer, { sub: "1", name: "n".repeat(500) }).name).to.have.length(120);
  });

  for (const sub of [undefined, "", 5, "x".repeat(256), "a\u0000"]) {
    it(`refuses the subject ${String(sub).slice(0, 20)}`, () =>
      expect(() => profileOfClaims(issuer, { sub })).to.throw());
  }
});

describe("profileOfUserinfo", () => {
  const config = {
    issuer,
    userinfo: { subject: "account.id", email: "mail", emailVerified: "flags.mail", name: "login" },
  } as unknown as OAuthProviderConfig;

  it("finds the fields by their configured names, and accepts a number as the subject", () => {
    expect(
      profileOfUserinfo(config, {
        account: { id: 42 },
        mail: "a@b.test",
        flags: { mail: true },
        login: "ada",
      }),
    ).to.deep.equal({
      issuer,
      subject: "42",
      email: "a@b.test",
      isEmailVerified: true,
      name: "ada",
      image: undefined,
    });
  });

  it("returns the primary address of a list, by its configured names, and none without a list", () => {
    const listed = {
      ...config,
      emails: { endpoint: issuer, list: "values", email: "mail", verified: "ok", primary: "first" },
    } as unknown as OAuthProviderConfig;
    const user = { account: { id: 1 }, mail: "own@b.test", flags: { mail: true } };
    const values = [null, { mail: "other@b.test", ok: true }, { mail: "A@b.test", ok: true, first: true }];
    expect(profileOfUserinfo(listed, user, { values })).to.include({
      email: "a@b.test",
      isEmailVerified: true,
    });
    expect(
      profileOfUserinfo(listed, user, { values: [{ mail: "a@b.test", ok: "true", first: true }] }),
    ).to.include({ isEmailVerified: false });
    expect(profileOfUserinfo(listed, user, { values: [] })).to.include({
      email: undefined,
      isEmailVerified: false,
    });
    for (const response of [undefined, [], { values: "x" }])
      expect(() => profileOfUserinfo(listed, user, response)).to.throw(TypeError);
  });

  it("refuses a response without a subject, and reads no inherited property", () => {
    for (const userinfo of [
      null,
      [],
      "x",
      {},
      { account: {} },
      { account: { id: 1.5 } },
      { account: { id: 2 ** 60 } },
      { account: null },
    ]) {
      expect(() => profileOfUserinfo(config, userinfo), JSON.stringify(userinfo)).to.throw();
    }
    const prototype = {
      ...config,
      userinfo: { subject: "constructor.name" },
    } as unknown as OAuthProviderConfig;
    expect(() => profileOfUserinfo(prototype, {})).to.throw();
  });
});

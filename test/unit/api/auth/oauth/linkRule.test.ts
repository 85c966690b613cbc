import { expect } from "chai";
import { judgeIdentity, type Standing } from "#api/auth/oauth/linkRule.ts";

const nobody: Standing = { profile: { email: "a@b.test", isEmailVerified: true }, trustsEmail: true, owner: undefined, namesake: undefined, linkTo: undefined };
const owner = { id: "owner", isDisabled: false };
const namesake = { id: "namesake", isDisabled: false, isEmailVerified: true };

describe("judgeIdentity", () => {
  const rejected: [string, Partial<Standing>, string][] = [
    ["a known identity that another user wants linked", { owner, linkTo: "me" }, "OAuthAccountNotLinked"],
    ["a known identity of a disabled user", { owner: { ...owner, isDisabled: true } }, "AccessDenied"],
    ["an address in use, not verified by the provider", { namesake, profile: { email: "a@b.test", isEmailVerified: false } }, "OAuthAccountNotLinked"],
    ["an address in use, from a provider that is not trusted", { namesake, trustsEmail: false }, "OAuthAccountNotLinked"],
    ["an address in use that its user never proved", { namesake: { ...namesake, isEmailVerified: false } }, "OAuthAccountNotLinked"],
    ["an address in use by a disabled user", { namesake: { ...namesake, isDisabled: true } }, "AccessDenied"],
    ["an unused address that is not verified", { profile: { email: "a@b.test", isEmailVerified: false } }, "OAuthCreateAccount"],
    ["no address", { profile: { email: undefined, isEmailVerified: false } }, "OAuthCreateAccount"],
  ];
  for (const [what, standing, reason] of rejected) {
    it(`refuses ${what}`, () => expect(judgeIdentity({ ...nobody, ...standing })).to.deep.equal({ kind: "refuse", reason }));
  }

  it("signs a known identity in, whatever its address is by now", () => {
    expect(judgeIdentity({ ...nobody, owner, namesake })).to.deep.equal({ kind: "signIn", userId: "owner" });
    expect(judgeIdentity({ ...nobody, owner, linkTo: "owner" })).to.deep.equal({ kind: "signIn", userId: "owner" });
  });

  it("links what a signed-in user asked for, verified or not", () => {
    expect(judgeIdentity({ ...nobody, linkTo: "me", namesake, profile: { email: undefined, isEmailVerified: false } })).to.deep.equal({ kind: "link", userId: "me" });
  });

  it("links by address when the provider verified it, is trusted, and the user proved it", () => {
    expect(judgeIdentity({ ...nobody, namesake })).to.deep.equal({ kind: "link", userId: "namesake" });
  });

  it("creates a user of a verified, unused address, trusted provider or not", () => {
    for (const trustsEmail of [true, false]) expect(judgeIdentity({ ...nobody, trustsEmail })).to.deep.equal({ kind: "create", email: "a@b.test" });
  });
});

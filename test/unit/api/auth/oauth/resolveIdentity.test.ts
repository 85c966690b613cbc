import { expect } from "chai";
import { resolveIdentity, type IdentityContext } from "#api/auth/oauth/resolveIdentity.ts";

const nobody: IdentityContext = {
  profile: { email: "a@b.test", isEmailVerified: true },
  trustsEmail: true,
  owner: undefined,
  userWithSameEmail: undefined,
  linkTo: undefined,
  mayLink: false,
};
const owner = { id: "owner", isDisabled: false };
const userWithSameEmail = { id: "sameEmail", isDisabled: false, isEmailVerified: true };

describe("resolveIdentity", () => {
  const rejected: [string, Partial<IdentityContext>, string][] = [
    ["a known identity that another user wants linked", { owner, linkTo: "me" }, "OAuthAccountNotLinked"],
    ["a known identity of a disabled user", { owner: { ...owner, isDisabled: true } }, "AccessDenied"],
    [
      "an address in use, not verified by the provider",
      { userWithSameEmail, profile: { email: "a@b.test", isEmailVerified: false } },
      "OAuthAccountNotLinked",
    ],
    [
      "an address in use, from a provider that is not trusted",
      { userWithSameEmail, trustsEmail: false },
      "OAuthAccountNotLinked",
    ],
    [
      "an address in use that its user never proved",
      { userWithSameEmail: { ...userWithSameEmail, isEmailVerified: false } },
      "OAuthAccountNotLinked",
    ],
    [
      "an address in use by a disabled user",
      { userWithSameEmail: { ...userWithSameEmail, isDisabled: true } },
      "AccessDenied",
    ],
    [
      "an unused address that is not verified",
      { profile: { email: "a@b.test", isEmailVerified: false } },
      "OAuthCreateAccount",
    ],
    [
      "what a signed-in user wants linked who has shown nothing but a cookie",
      { linkTo: "me", userWithSameEmail },
      "ReauthenticationRequired",
    ],
    ["no address", { profile: { email: undefined, isEmailVerified: false } }, "OAuthCreateAccount"],
  ];
  for (const [what, context, reason] of rejected) {
    it(`refuses ${what}`, () =>
      expect(resolveIdentity({ ...nobody, ...context })).to.deep.equal({ kind: "refuse", reason }));
  }

  it("signs in a known identity, even if its address has changed", () => {
    expect(resolveIdentity({ ...nobody, owner, userWithSameEmail })).to.deep.equal({
      kind: "signIn",
      userId: "owner",
    });
    expect(resolveIdentity({ ...nobody, owner, linkTo: "owner" })).to.deep.equal({
      kind: "signIn",
      userId: "owner",
    });
  });

  it("links an identity for a signed-in user, verified or not", () => {
    expect(
      resolveIdentity({
        ...nobody,
        linkTo: "me",
        mayLink: true,
        userWithSameEmail,
        profile: { email: undefined, isEmailVerified: false },
      }),
    ).to.deep.equal({ kind: "link", userId: "me" });
  });

  it("links by address if the provider verified it and is trusted, and the user verified it", () => {
    expect(resolveIdentity({ ...nobody, userWithSameEmail })).to.deep.equal({
      kind: "link",
      userId: "sameEmail",
    });
  });

  it("creates a user for a verified, unused address, whether or not the provider is trusted", () => {
    for (const trustsEmail of [true, false])
      expect(resolveIdentity({ ...nobody, trustsEmail })).to.deep.equal({
        kind: "create",
        email: "a@b.test",
      });
  });
});

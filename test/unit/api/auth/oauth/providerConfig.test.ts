import { expect } from "chai";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readProviders } from "#api/auth/oauth/providerConfig.ts";

const oidc = {
  id: "example",
  name: "Example",
  type: "oidc",
  issuer: "https://id.example",
  clientId: "joypod",
};
const oauth = {
  id: "hub",
  name: "Hub",
  type: "oauth",
  issuer: "https://hub.example",
  clientId: "joypod",
  authorizationEndpoint: "https://hub.example/authorize",
  tokenEndpoint: "https://hub.example/token",
  userinfoEndpoint: "https://api.hub.example/user",
  userinfo: { subject: "id" },
};

describe("readProviders", () => {
  const directory = mkdtempSync(join(tmpdir(), "joypod-providers-"));
  after(() => rmSync(directory, { recursive: true }));

  function write(content: unknown): string {
    const file = join(directory, "providers.json");
    writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content));
    return file;
  }

  it("reads both kinds, with minimal settings and secrets in files", () => {
    writeFileSync(join(directory, "secret"), "s3cret\n");
    const [first, second] = readProviders(
      write({ providers: [{ ...oidc, clientSecretFile: "secret" }, oauth] }),
    );
    expect(first).to.deep.include({
      clientSecret: "s3cret",
      scopes: ["openid", "email", "profile"],
      trustsEmail: false,
      allowInsecure: false,
      clientAuthentication: "basic",
    });
    expect(second).to.deep.include({ type: "oauth", scopes: [] });
  });

  const wrong: [string, unknown, RegExp][] = [
    ["no JSON", "{ secret", /is not valid JSON/],
    ["no list", {}, /providers/],
    ["an unknown field", { providers: [{ ...oidc, isuer: "x" }] }, /providers\.0: .*isuer/],
    ["an unknown type", { providers: [{ ...oidc, type: "saml" }] }, /providers\.0\.type/],
    ["no issuer", { providers: [{ ...oidc, issuer: undefined }] }, /providers\.0\.issuer/],
    ["an issuer by plain http", { providers: [{ ...oidc, issuer: "http://id.example" }] }, /must be https/],
    [
      "plain http elsewhere, though allowed",
      { providers: [{ ...oidc, issuer: "http://id.example", allowInsecure: true }] },
      /must be https/,
    ],
    [
      "plain http on the loopback, not allowed",
      { providers: [{ ...oidc, issuer: "http://127.0.0.1:9" }] },
      /must be https/,
    ],
    [
      "a token endpoint by plain http",
      { providers: [{ ...oauth, tokenEndpoint: "http://hub.example/t" }] },
      /must be https/,
    ],
    [
      "a list of addresses by plain http",
      { providers: [{ ...oauth, emails: { endpoint: "http://hub.example/e" } }] },
      /must be https/,
    ],
    [
      "a list of addresses without its address",
      { providers: [{ ...oauth, emails: {} }] },
      /providers\.0\.emails\.endpoint/,
    ],
    [
      "a name in responses that is no address",
      { providers: [{ ...oauth, responseIssuer: "Hub" }] },
      /providers\.0\.responseIssuer/,
    ],
    [
      "a name in responses of a provider that says its name itself",
      { providers: [{ ...oidc, responseIssuer: "https://id.example" }] },
      /responseIssuer/,
    ],
    [
      "credentials in an address",
      { providers: [{ ...oidc, issuer: "https://u:p@id.example" }] },
      /user name or a fragment/,
    ],
    ["one id twice", { providers: [oidc, { ...oauth, id: "example" }] }, /example twice/],
    ["the id of the password form", { providers: [{ ...oidc, id: "credentials" }] }, /sign-in by password/],
    ["an id that is no path", { providers: [{ ...oidc, id: "a/b" }] }, /providers\.0\.id/],
    ["scopes without openid", { providers: [{ ...oidc, scopes: ["email"] }] }, /must include openid/],
    [
      "a missing secret file",
      { providers: [{ ...oidc, clientSecretFile: "missing" }] },
      /cannot be read: .*missing/,
    ],
    ["two secrets", { providers: [{ ...oidc, clientSecret: "a", clientSecretFile: "secret" }] }, /keep one/],
    ["no subject to go by", { providers: [{ ...oauth, userinfo: {} }] }, /providers\.0\.userinfo\.subject/],
  ];
  for (const [what, content, message] of wrong) {
    it(`refuses ${what} with an explanation`, () =>
      expect(() => readProviders(write(content))).to.throw(message));
  }

  it("names a missing file, and repeats no secret", () => {
    expect(() => readProviders(join(directory, "nowhere.json"))).to.throw(/cannot be read: .*nowhere\.json/);
    const file = write({ providers: [{ ...oidc, clientSecret: "canary-secret", id: "Bad" }] });
    expect(() => readProviders(file))
      .to.throw(Error)
      .with.property("message")
      .that.does.not.contain("canary");
    expect(() => readProviders(write('{"clientSecret":"canary-secret" oops')))
      .to.throw(Error)
      .with.property("message")
      .that.does.not.contain("canary");
  });

  it("accepts plain http on the loopback interface if allowed", () => {
    for (const issuer of ["http://127.0.0.1:9", "http://localhost:9", "http://[::1]:9"]) {
      expect(readProviders(write({ providers: [{ ...oidc, issuer, allowInsecure: true }] }))).to.have.length(
        1,
      );
    }
  });
});

import { expect } from "chai";
import { OAuthFailure, OAuthProvider } from "#api/auth/oauth/oauthProvider.ts";
import type { Profile } from "#api/auth/oauth/profile.ts";
import { readProviders } from "#api/auth/oauth/providerConfig.ts";
import { FakeClock } from "#test/support/clocks/fakeClock.ts";
import { providersEnv } from "#test/support/oidc/providersFile.ts";
import { FaultyIssuer, type Misbehaviour } from "#test/support/oidc/faultyIssuer.ts";

const metadata = "/.well-known/openid-configuration";
const hourMs = 3600_000;

describe("OAuthProvider", () => {
  let issuer: FaultyIssuer;
  let clock: FakeClock;
  let provider: OAuthProvider;

  beforeEach(async () => {
    issuer = await FaultyIssuer.start();
    clock = new FakeClock();
    provider = newProvider();
  });
  afterEach(() => issuer.stop());

  function newProvider(path = ""): OAuthProvider {
    const { AUTH_PROVIDERS_FILE } = providersEnv([
      {
        id: "faulty",
        name: "Faulty",
        type: "oidc",
        issuer: issuer.url + path,
        clientId: "joypod",
        allowInsecure: true,
      },
    ]);
    const [config] = readProviders(AUTH_PROVIDERS_FILE);
    if (config === undefined) throw new Error("The provider's configuration was not read.");
    return new OAuthProvider({ config, baseUrl: "https://play.test", clock });
  }

  function ask(): Promise<string> {
    return provider.authorizationUrl(provider.createProof(), new URLSearchParams());
  }

  /** Who comes back from the provider. */
  async function wayBack(): Promise<Profile> {
    const proof = provider.createProof();
    const response = await fetch(await provider.authorizationUrl(proof, new URLSearchParams()), {
      redirect: "manual",
    });
    return provider.profileOf(new URL(response.headers.get("location") ?? "").search, proof);
  }

  it("reads the provider's metadata when first needed, once for all parallel sign-ins", async () => {
    expect(issuer.requests).to.be.empty;
    const urls = await Promise.all(Array.from({ length: 5 }, ask));
    await ask();
    expect(issuer.requests).to.deep.equal([metadata]);
    expect(new Set(urls.map((url) => new URL(url).searchParams.get("state"))).size).to.equal(5);
  });

  it("refreshes the provider's metadata every hour, and keeps the old while the provider is unavailable", async () => {
    await ask();
    await clock.advance(hourMs);
    await ask();
    expect(issuer.requests).to.deep.equal([metadata, metadata]);
    await issuer.stop();
    await clock.advance(hourMs);
    expect(await ask()).to.contain("/authorize?");
  });

  it("returns the configured issuer without a request to the provider", async () => {
    expect(await provider.issuer()).to.equal(issuer.url);
    expect(issuer.requests).to.be.empty;
  });

  it("returns the issuer of its metadata if it is configured by their address, none before they are read, and keeps it", async () => {
    const port = Number(new URL(issuer.url).port);
    provider = newProvider(metadata);
    await issuer.stop();
    expect(await provider.issuer()).to.equal(undefined);
    issuer = await FaultyIssuer.start(port);
    const names = "https://id.test/named";
    issuer.misbehaviour = { metadata: { issuer: names } };
    expect(await provider.issuer()).to.equal(names);
    await issuer.stop();
    await clock.advance(hourMs);
    expect(await provider.issuer()).to.equal(names);
  });

  describe("uses the provider's endpoints only over https, except on the loopback interface:", () => {
    /** The issuer, at an address of the loopback that is not known for one: what is sent there arrives. */
    function elsewhere(path: string): string {
      return issuer.url.replace("127.0.0.1", "0.0.0.0") + path;
    }

    async function expectErrorResponse(work: Promise<unknown>, reason: string): Promise<void> {
      const failure = await work.then(
        () => undefined,
        (error: unknown) => error,
      );
      expect(failure).to.be.instanceOf(OAuthFailure).and.have.property("reason", reason);
    }

    it("no browser is sent elsewhere", async () => {
      for (const authorization_endpoint of [
        elsewhere("/authorize"),
        "http://id.test/authorize",
        "javascript:alert(1)",
        "/authorize",
        "",
      ]) {
        issuer.misbehaviour = { metadata: { authorization_endpoint } };
        await expectErrorResponse(
          newProvider().authorizationUrl(provider.createProof(), new URLSearchParams()),
          "OAuthSignin",
        );
      }
    });

    const ends: [what: string, path: string, misbehaviour: () => Misbehaviour][] = [
      ["code", "/token", () => ({ metadata: { token_endpoint: elsewhere("/token") } })],
      ["request for keys", "/jwks", () => ({ metadata: { jwks_uri: elsewhere("/jwks") } })],
      [
        "access token",
        "/userinfo",
        () => ({ metadata: { userinfo_endpoint: elsewhere("/userinfo") }, claims: { email: undefined } }),
      ],
    ];
    for (const [what, path, misbehaviour] of ends) {
      it(`no ${what} is sent elsewhere`, async () => {
        issuer.misbehaviour = misbehaviour();
        await expectErrorResponse(wayBack(), "OAuthCallback");
        expect(issuer.requests).to.not.include(path);
        issuer.misbehaviour = { ...misbehaviour(), metadata: {} };
        provider = newProvider();
        await wayBack();
        expect(issuer.requests).to.include(path);
      });
    }
  });
});

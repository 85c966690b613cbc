import { expect } from "chai";
import { OAuthProvider } from "../../../../api/src/auth/oauth/oauthProvider.ts";
import { readProviders } from "../../../../api/src/auth/oauth/providerConfig.ts";
import { FakeClock } from "../../../support/fakeClock.ts";
import { providersEnv } from "../../../support/oidc/providersFile.ts";
import { WildIssuer } from "../../../support/oidc/wildIssuer.ts";

const metadata = "/.well-known/openid-configuration";
const hourMs = 3600_000;

describe("OAuthProvider", () => {
  let issuer: WildIssuer;
  let clock: FakeClock;
  let provider: OAuthProvider;

  beforeEach(async () => {
    issuer = await WildIssuer.start();
    clock = new FakeClock();
    const { AUTH_PROVIDERS_FILE } = providersEnv([{ id: "wild", name: "Wild", type: "oidc", issuer: issuer.url, clientId: "joypod", allowInsecure: true }]);
    const [config] = readProviders(AUTH_PROVIDERS_FILE);
    if (config === undefined) throw new Error("The provider's configuration was not read.");
    provider = new OAuthProvider({ config, baseUrl: "https://play.test", clock });
  });
  afterEach(() => issuer.stop());

  function ask(): Promise<string> {
    return provider.authorizationUrl(provider.createProof(), new URLSearchParams());
  }

  it("asks nothing before it is needed, and then once for all who need it", async () => {
    expect(issuer.requests).to.be.empty;
    const urls = await Promise.all(Array.from({ length: 5 }, ask));
    await ask();
    expect(issuer.requests).to.deep.equal([metadata]);
    expect(new Set(urls.map((url) => new URL(url).searchParams.get("state"))).size).to.equal(5);
  });

  it("reads what the provider says of itself anew every hour, and goes on with what it knows while the provider is away", async () => {
    await ask();
    await clock.advance(hourMs);
    await ask();
    expect(issuer.requests).to.deep.equal([metadata, metadata]);
    await issuer.stop();
    await clock.advance(hourMs);
    expect(await ask()).to.contain("/authorize?");
  });
});

import { expect } from "chai";
import { limits } from "#contracts/limits.ts";
import type { SignInMethodsResponse } from "#contracts/http/auth.ts";
import type { TestUser } from "#test/factories/catalog.ts";
import { FakeClock } from "#test/support/clocks/fakeClock.ts";
import { TestApi } from "#test/support/http/api.ts";
import { expectErrorResponse, type ApiClient, type ApiResponse } from "#test/support/http/apiClient.ts";
import { postProviderSignIn } from "#test/support/http/authForms.ts";
import { FaultyIssuer } from "#test/support/oidc/faultyIssuer.ts";
import { awayProvider, providersEnv } from "#test/support/oidc/providersFile.ts";

/** Where a provider describes itself, which may be configured in the place of its issuer. */
const metadataPath = "/.well-known/openid-configuration";

describe("a provider whose issuer differs from its configured address", () => {
  let api: TestApi;
  let clock: FakeClock;
  let described: FaultyIssuer;
  let other: FaultyIssuer;
  let subjects = 0;

  before(async () => {
    [described, other] = await Promise.all([FaultyIssuer.start(), FaultyIssuer.start()]);
    clock = new FakeClock(new Date());
    const oidc = { type: "oidc", clientId: "joypod", allowInsecure: true };
    api = await TestApi.start({
      clock,
      env: providersEnv([
        { ...oidc, id: "described", name: "Described", issuer: described.url + metadataPath },
        { ...oidc, id: "other", name: "Other", issuer: other.url },
        { ...awayProvider, issuer: awayProvider.issuer + metadataPath },
      ]),
    });
  });
  after(async () => {
    await api.stop();
    await Promise.all([described.stop(), other.stop()]);
  });
  beforeEach(async () => {
    await api.deps.redis.flushdb();
    const sub = `named-otherwise-${++subjects}`;
    for (const issuer of [described, other])
      issuer.misbehaviour = { claims: { sub, email: `${sub}@example.test` } };
  });

  /** Goes to the provider and comes back, as a browser does; returns where to. */
  async function visit(browser: ApiClient, id: string): Promise<string | null> {
    const { url } = (await postProviderSignIn(browser, id, { json: "true", callbackUrl: "/account" })).json<{
      url: string;
    }>();
    const back = new URL((await fetch(url, { redirect: "manual" })).headers.get("location") ?? "");
    return (await browser.get(back.pathname + back.search)).headers.get("location");
  }

  async function playerOf(id: string): Promise<ApiClient> {
    const browser = api.anonymous();
    expect(await visit(browser, id)).to.equal(`${api.url}/account`);
    return browser;
  }

  async function linkedTo(browser: ApiClient): Promise<string[]> {
    const { providers } = (await browser.get("/api/auth/methods")).json<SignInMethodsResponse>();
    return providers.filter(({ isLinked }) => isLinked).map(({ id }) => id);
  }

  function unlink(browser: ApiClient, id: string): Promise<ApiResponse> {
    return browser.post(`/api/account/providers/${id}/unlink`, {});
  }

  async function unlinkings(browser: ApiClient): Promise<number> {
    const { id } = (await browser.get("/api/auth/session")).json<{ user: TestUser }>().user;
    return api.deps.postgres.prisma.auditEvent.count({ where: { actorId: id, action: "identity.unlinked" } });
  }

  it("is shown as linked, and no longer signs its player in after it is unlinked", async () => {
    const browser = await playerOf("described");
    expect(await linkedTo(browser)).to.deep.equal(["described"]);
    expectErrorResponse(await unlink(browser, "described"), 409, "conflict");
    expect(
      (await browser.put("/api/account/password", { newPassword: "a quite uncommon password" })).status,
    ).to.equal(200);
    expect((await unlink(browser, "described")).status).to.equal(204);
    expect(await unlinkings(browser)).to.equal(1);
    expect(await linkedTo(browser)).to.deep.equal([]);
    expect(await visit(api.anonymous(), "described")).to.contain("error=OAuthAccountNotLinked");
  });

  it("counts as a remaining sign-in method when another provider is unlinked", async () => {
    const browser = await playerOf("described");
    await visit(browser, "other");
    expect(await linkedTo(browser)).to.deep.equal(["described", "other"]);
    expect((await unlink(browser, "other")).status).to.equal(204);
    expect(await linkedTo(browser)).to.deep.equal(["described"]);
  });

  it("reauthenticates a player by a new sign-in", async () => {
    const browser = await playerOf("described");
    await clock.advance(limits.auth.recentSignInSeconds * 1000);
    expect(await visit(browser, "described")).to.equal(`${api.url}/account`);
    expect(
      (await browser.put("/api/account/password", { newPassword: "a quite uncommon password" })).status,
    ).to.equal(200);
  });

  it("is not unlinked while its issuer is unknown because it does not respond", async () => {
    const browser = await playerOf("other");
    expectErrorResponse(await unlink(browser, "away"), 503, "unavailable");
    expect(await linkedTo(browser)).to.deep.equal(["other"]);
  });
});

import { expect } from "chai";
import { aUser, type TestUser } from "#test/factories/catalog.ts";
import { TestApi } from "#test/support/http/api.ts";
import { expectErrorResponse, type ApiClient, type ApiResponse } from "#test/support/http/apiClient.ts";
import { postProviderSignIn, postSignOut } from "#test/support/http/authForms.ts";
import { freePort } from "#test/support/processes/childProgram.ts";
import {
  clientId,
  clientSecret,
  IdentityProvider,
  type ProviderAccount,
} from "#test/support/oidc/identityProvider.ts";
import { ProviderVisitor } from "#test/support/oidc/providerPages.ts";
import { providersEnv } from "#test/support/oidc/providersFile.ts";

const transactionPrefix = "auth.oauth.";
const sessionCookie = "auth.session-token";

describe("sign-in through an OpenID provider", () => {
  let api: TestApi;
  let provider: IdentityProvider;
  let logins = 0;
  const accounts: Record<string, ProviderAccount> = {};

  before(async () => {
    const port = await freePort();
    const issuer = `http://127.0.0.1:${port}`;
    const oidc = { type: "oidc", issuer, clientId, clientSecret, allowInsecure: true };
    api = await TestApi.start({
      env: providersEnv([
        { ...oidc, id: "example", name: "Example", trustsEmail: true },
        { ...oidc, id: "cautious", name: "Not trusted" },
      ]),
    });
    provider = await IdentityProvider.start({
      port,
      accounts,
      redirectUris: ["example", "cautious"].map((id) => `${api.url}/api/auth/callback/${id}`),
    });
  });
  after(async () => {
    await provider.stop();
    await api.stop();
  });
  beforeEach(() => api.deps.redis.flushdb());

  /** A new account there; by default with an address that is verified. */
  function anAccount(account: ProviderAccount = {}): string {
    const login = `login-${++logins}`;
    accounts[login] = {
      email: `${login}@example.test`,
      email_verified: true,
      name: "Ada at Example",
      ...account,
    };
    return login;
  }

  async function begin(browser: ApiClient, id = "example", callbackUrl = "/library"): Promise<string> {
    const response = await postProviderSignIn(browser, id, { json: "true", callbackUrl });
    expect(response.status, response.text).to.equal(200);
    return response.json<{ url: string }>().url;
  }

  /** What the browser then asks of the API. */
  async function passed(url: string, login: string, declines = false): Promise<string> {
    const back = new URL(await new ProviderVisitor(provider.issuer).pass(url, { login, declines }));
    expect(back.origin).to.equal(api.url);
    return back.pathname + back.search;
  }

  async function signIn(browser: ApiClient, login: string, id = "example"): Promise<ApiResponse> {
    return browser.get(await passed(await begin(browser, id), login));
  }

  function expectRefused(response: ApiResponse, reason: string): void {
    expect(response.status, response.text).to.equal(302);
    expect(response.headers.get("location")).to.equal(`${api.url}/api/auth/signin?error=${reason}`);
  }

  async function userOf(
    browser: ApiClient,
  ): Promise<{ id: string; name: string; email: string } | undefined> {
    return (await browser.get("/api/auth/session")).json<{
      user?: { id: string; name: string; email: string };
    }>().user;
  }

  function userCount(): Promise<number> {
    return api.deps.postgres.prisma.user.count();
  }

  async function aVerifiedUser(): Promise<TestUser> {
    const user = await aUser(api.deps);
    await api.deps.postgres.prisma.user.update({
      where: { id: user.id },
      data: { emailVerifiedAt: new Date() },
    });
    return user;
  }

  it("lists the providers after the password form", async () => {
    const providers = (await api.anonymous().get("/api/auth/providers")).json();
    expect(Object.keys(providers)).to.deep.equal(["credentials", "example", "cautious"]);
    expect(providers["example"]).to.deep.equal({
      id: "example",
      name: "Example",
      type: "oidc",
      signinUrl: `${api.url}/api/auth/signin/example`,
      callbackUrl: `${api.url}/api/auth/callback/example`,
    });
  });

  it("sends the provider all proofs, and stores them in one sealed cookie", async () => {
    const browser = api.anonymous();
    const askedAt = Date.now();
    const response = await postProviderSignIn(
      browser,
      "example",
      { json: "true" },
      "?login_hint=ada&prompt=login&scope=everything&redirect_uri=https://evil.test",
    );
    const url = new URL(response.json<{ url: string }>().url);
    expect(url.origin).to.equal(provider.issuer);
    const query = Object.fromEntries(url.searchParams);
    expect(query).to.include({
      client_id: clientId,
      response_type: "code",
      scope: "openid email profile",
      redirect_uri: `${api.url}/api/auth/callback/example`,
      code_challenge_method: "S256",
      login_hint: "ada",
      prompt: "login",
    });
    for (const name of ["state", "nonce", "code_challenge"])
      expect(query[name], name).to.have.length.of.at.least(43);
    const [cookie = ""] = response.setCookies;
    expect(cookie).to.match(
      /^auth\.oauth\.[A-Za-z0-9_-]{22}=[A-Za-z0-9_-]+; Path=\/; HttpOnly; SameSite=Lax; Expires=/,
    );
    for (const secret of [query["state"], query["nonce"]]) expect(cookie).to.not.contain(secret);
    const ends = Date.parse(/Expires=([^;]+)/.exec(cookie)?.[1] ?? "");
    // The attribute has whole seconds.
    expect(ends).to.be.within(askedAt + 599_000, Date.now() + 601_000);
  });

  it("creates an account for a verified address, signs in, and finds the same account again", async () => {
    const login = anAccount({ picture: "https://pictures.test/ada.png" });
    const browser = api.anonymous();
    const response = await signIn(browser, login);
    expect(response.status, response.text).to.equal(302);
    expect(response.headers.get("location")).to.equal(`${api.url}/library`);
    expect([...browser.cookies.keys()].filter((name) => name.startsWith(transactionPrefix))).to.be.empty;
    const user = await userOf(browser);
    expect(user).to.include({
      name: "Ada at Example",
      email: `${login}@example.test`,
      image: "https://pictures.test/ada.png",
    });
    const stored = await api.deps.postgres.prisma.user.findUniqueOrThrow({
      where: { id: user?.id ?? "" },
      include: { identities: true },
    });
    expect(stored).to.include({ passwordHash: null }).and.have.property("emailVerifiedAt").that.is.a("date");
    expect(stored.identities).to.have.length(1);
    expect(stored.identities[0]).to.include({ issuer: provider.issuer, subject: login });

    // The address may change there; the account is known by its subject.
    accounts[login] = { email: "another@example.test", email_verified: false };
    const before = await userCount();
    const second = api.anonymous();
    expect((await signIn(second, login)).headers.get("location")).to.equal(`${api.url}/library`);
    expect((await userOf(second))?.id).to.equal(user?.id);
    expect(await userCount()).to.equal(before);
    const trail = await api.deps.postgres.prisma.auditEvent.findMany({
      where: { actorId: user?.id ?? "" },
      orderBy: { id: "asc" },
    });
    expect(trail.map(({ action }) => action)).to.deep.equal([
      "user.created",
      "identity.linked",
      "signIn.succeeded",
      "signIn.succeeded",
    ]);
    expect(trail[2]?.details).to.deep.equal({ provider: "example" });
  });

  it("creates no account for an unverified or missing address", async () => {
    const before = await userCount();
    expectRefused(await signIn(api.anonymous(), anAccount({ email_verified: false })), "OAuthCreateAccount");
    const login = anAccount();
    accounts[login] = {};
    expectRefused(await signIn(api.anonymous(), login), "OAuthCreateAccount");
    expect(await userCount()).to.equal(before);
    const events = await api.deps.postgres.prisma.auditEvent.findMany({
      where: { action: "signIn.refused" },
      orderBy: { id: "desc" },
      take: 1,
    });
    expect(events[0]?.details).to.deep.equal({ provider: "example", reason: "OAuthCreateAccount" });
  });

  it("links an account by its address only if the provider verified it and is trusted, and the account verified it", async () => {
    const [verified, unproven] = [await aVerifiedUser(), await aUser(api.deps)];
    const onlyClaimed = `claimed-${verified.email}`;
    await signIn(api.anonymous(), anAccount({ email: onlyClaimed }), "cautious");
    const before = await userCount();
    expectRefused(
      await signIn(api.anonymous(), anAccount({ email: verified.email, email_verified: false })),
      "OAuthAccountNotLinked",
    );
    expectRefused(
      await signIn(api.anonymous(), anAccount({ email: verified.email }), "cautious"),
      "OAuthAccountNotLinked",
    );
    for (const email of [unproven.email, onlyClaimed])
      expectRefused(await signIn(api.anonymous(), anAccount({ email })), "OAuthAccountNotLinked");
    const browser = api.anonymous();
    await signIn(browser, anAccount({ email: verified.email.toUpperCase() }));
    expect([(await userOf(browser))?.id, await userCount()]).to.deep.equal([verified.id, before]);
  });

  it("links an identity for a signed-in player, and for nobody else", async () => {
    const [user, other] = [await aUser(api.deps), await aUser(api.deps)];
    const login = anAccount({ email_verified: false });
    const browser = api.as(user);
    await browser.get("/api/games");
    const earlier = browser.cookies.get(sessionCookie) ?? "";
    expect((await signIn(browser, login)).headers.get("location")).to.equal(`${api.url}/library`);
    expect((await userOf(browser))?.id).to.equal(user.id);
    const thief = api.anonymous();
    thief.cookies.set(sessionCookie, earlier);
    expectErrorResponse(await thief.get("/api/games"), 401, "unauthorized");
    const elsewhere = api.anonymous();
    await signIn(elsewhere, login);
    expect((await userOf(elsewhere))?.id).to.equal(user.id);
    const others = api.as(other);
    expectRefused(await signIn(others, login), "OAuthAccountNotLinked");
    expect((await userOf(others))?.id).to.equal(other.id);
  });

  it("lists each player's sign-in methods", async () => {
    const ways = (example: boolean) => [
      { id: "example", name: "Example", isLinked: example },
      { id: "cautious", name: "Not trusted", isLinked: example },
    ];
    const browser = api.as(await aUser(api.deps));
    expect((await browser.get("/api/auth/methods")).json()).to.deep.equal({
      hasPassword: true,
      providers: ways(false),
    });
    await signIn(browser, anAccount());
    // Both providers of this API are the same issuer.
    expect((await browser.get("/api/auth/methods")).json()).to.deep.equal({
      hasPassword: true,
      providers: ways(true),
    });
    const newcomer = api.anonymous();
    await signIn(newcomer, anAccount());
    expect((await newcomer.get("/api/auth/methods")).json()).to.deep.equal({
      hasPassword: false,
      providers: ways(true),
    });
  });

  it("links nothing if the player has signed out, or another one has signed in, by the time of the callback", async () => {
    const [user, other] = [await aUser(api.deps), await aUser(api.deps)];
    const others = api.as(other);
    expect((await userOf(others))?.id).to.equal(other.id);
    for (const leave of [
      postSignOut,
      (browser: ApiClient) => browser.cookies.set(sessionCookie, others.cookies.get(sessionCookie) ?? ""),
    ]) {
      const browser = api.as(user);
      const back = await passed(await begin(browser), anAccount());
      await leave(browser);
      expectRefused(await browser.get(back), "SessionRequired");
    }
    expect(
      await api.deps.postgres.prisma.identity.count({ where: { userId: { in: [user.id, other.id] } } }),
    ).to.equal(0);
  });

  it("refuses a disabled player", async () => {
    const login = anAccount();
    const browser = api.anonymous();
    await signIn(browser, login);
    const user = await userOf(browser);
    await api.deps.postgres.prisma.user.update({
      where: { id: user?.id ?? "" },
      data: { disabledAt: new Date() },
    });
    expectRefused(await signIn(api.anonymous(), login), "AccessDenied");
  });

  it("lets two tabs sign in at once", async () => {
    const browser = api.anonymous();
    const [first, second] = [
      await begin(browser, "example", "/one"),
      await begin(browser, "example", "/two"),
    ];
    const backs = [await passed(first, anAccount()), await passed(second, anAccount())];
    expect((await browser.get(backs[1] ?? "")).headers.get("location")).to.equal(`${api.url}/two`);
    expect((await browser.get(backs[0] ?? "")).headers.get("location")).to.equal(`${api.url}/one`);
  });

  it("keeps at most five pending sign-ins per browser, evicting the oldest", async () => {
    const browser = api.anonymous();
    const first = await begin(browser);
    for (let index = 0; index < 5; index += 1) await begin(browser);
    const kept = [...browser.cookies].filter(([name]) => name.startsWith(transactionPrefix));
    expect(kept).to.have.length(5);
    expect(kept.map(([name, value]) => name.length + value.length).reduce((a, b) => a + b)).to.be.lessThan(
      6 * 1024,
    );
    expectRefused(await browser.get(await passed(first, anAccount())), "OAuthCallback");
  });

  it("creates one account for a new identity that arrives twice at once", async () => {
    const login = anAccount();
    const browsers = [api.anonymous(), api.anonymous(), api.anonymous()];
    const backs = await Promise.all(browsers.map(async (browser) => passed(await begin(browser), login)));
    await Promise.all(browsers.map((browser, index) => browser.get(backs[index] ?? "")));
    const ids = await Promise.all(browsers.map(async (browser) => (await userOf(browser))?.id));
    expect(new Set(ids).size).to.equal(1);
    expect(ids[0]).to.be.a("string");
  });

  it("reports a declined sign-in on the sign-in page", async () => {
    const browser = api.anonymous();
    expectRefused(await browser.get(await passed(await begin(browser), "", true)), "AccessDenied");
  });

  describe("on its callback", () => {
    let browser: ApiClient;
    let back: URL;

    beforeEach(async () => {
      browser = api.anonymous();
      back = new URL(await passed(await begin(browser), anAccount()), api.url);
    });

    async function expectNoSignIn(from: ApiClient, path: string): Promise<void> {
      const before = await userCount();
      expectRefused(await from.get(path), "OAuthCallback");
      expect(await userOf(from)).to.equal(undefined);
      expect(await userCount()).to.equal(before);
    }

    it("refuses a wrong state and a missing one", async () => {
      for (const state of [`${back.searchParams.get("state") ?? ""}x`, ""]) {
        const path = new URL(back);
        path.searchParams.set("state", state);
        await expectNoSignIn(browser, path.pathname + path.search);
      }
      back.searchParams.delete("state");
      await expectNoSignIn(browser, back.pathname + back.search);
    });

    it("refuses a browser that started no sign-in", () =>
      expectNoSignIn(api.anonymous(), back.pathname + back.search));

    it("refuses the cookie of another state", async () => {
      const other = api.anonymous();
      await begin(other);
      const [value = ""] = [...other.cookies]
        .filter(([name]) => name.startsWith(transactionPrefix))
        .map(([, text]) => text);
      const [name = ""] = [...browser.cookies.keys()].filter((key) => key.startsWith(transactionPrefix));
      browser.cookies.set(name, value);
      await expectNoSignIn(browser, back.pathname + back.search);
    });

    it("refuses the response of one provider at another's callback", () =>
      expectNoSignIn(browser, `/api/auth/callback/cautious${back.search}`));

    it("refuses a response that names another issuer", async () => {
      back.searchParams.set("iss", "https://evil.test");
      await expectNoSignIn(browser, back.pathname + back.search);
    });

    it("accepts a code once, even with its cookie restored", async () => {
      const cookies = [...browser.cookies];
      expect((await browser.get(back.pathname + back.search)).headers.get("location")).to.equal(
        `${api.url}/library`,
      );
      await postSignOut(browser);
      await expectNoSignIn(browser, back.pathname + back.search);
      for (const [name, value] of cookies) browser.cookies.set(name, value);
      await expectNoSignIn(browser, back.pathname + back.search);
    });

    it("writes no code, state, cookie or secret to its log", async () => {
      const cookies = [...browser.cookies]
        .filter(([name]) => name.startsWith(transactionPrefix))
        .map(([, value]) => value);
      back.searchParams.set("iss", "https://evil.test");
      await browser.get(back.pathname + back.search);
      const log = api.logLines.join("");
      expect(log).to.contain("The API refused a sign-in through a provider.");
      for (const secret of [
        back.searchParams.get("code"),
        back.searchParams.get("state"),
        clientSecret,
        ...cookies,
      ])
        expect(log).to.not.contain(secret);
    });
  });

  it("requires the form's token, a known provider, and a POST", async () => {
    const browser = api.anonymous();
    expectErrorResponse(
      await browser.post("/api/auth/signin/example", new URLSearchParams({ json: "true" })),
      403,
      "csrf",
    );
    const plain = await browser.post("/api/auth/signin/example", new URLSearchParams());
    expect(plain.headers.get("location")).to.equal(`${api.url}/api/auth/signin?error=MissingCSRF&csrf=true`);
    const unknown = await postProviderSignIn(browser, "nowhere");
    expectErrorResponse(unknown, 404, "not_found");
    expect(unknown.json()["url"]).to.equal(`${api.url}/api/auth/signin?error=OAuthSignin`);
    expectErrorResponse(await browser.get("/api/auth/signin/example"), 405, "method_not_allowed");
    expectErrorResponse(
      await browser.post("/api/auth/callback/example", new URLSearchParams({ code: "c", state: "s" })),
      405,
      "method_not_allowed",
    );
    expect((await postProviderSignIn(browser, "credentials")).json()["url"]).to.match(
      /\/api\/auth\/signin\?callbackUrl=/,
    );
    expect((await browser.get("/api/auth/callback/nowhere?state=x")).headers.get("location")).to.contain(
      "error=OAuthCallback",
    );
  });

  it("redirects a plain form to the provider", async () => {
    const response = await postProviderSignIn(api.anonymous(), "example", {});
    expect(response.status).to.equal(302);
    expect(new URL(response.headers.get("location") ?? "").origin).to.equal(provider.issuer);
  });

  it("redirects to the home page instead of to another site", async () => {
    const browser = api.anonymous();
    const back = await passed(await begin(browser, "example", "https://evil.test/"), anAccount());
    expect((await browser.get(back)).headers.get("location")).to.equal(`${api.url}/`);
  });

  it("uses the cookie names and attributes of production over https", async () => {
    const secure = await TestApi.start({
      env: {
        BASE_URL: "https://play.test",
        ...providersEnv([
          {
            type: "oidc",
            issuer: provider.issuer,
            clientId,
            clientSecret,
            allowInsecure: true,
            id: "example",
            name: "Example",
          },
        ]),
      },
    });
    try {
      const response = await postProviderSignIn(secure.anonymous(), "example");
      expect(response.setCookies[0]).to.match(
        /^__Host-auth\.oauth\.[A-Za-z0-9_-]{22}=[^;]+; Path=\/; HttpOnly; SameSite=Lax; Secure; Expires=/,
      );
      expect(new URL(response.json<{ url: string }>().url).searchParams.get("redirect_uri")).to.equal(
        "https://play.test/api/auth/callback/example",
      );
    } finally {
      await secure.stop();
    }
  });
});

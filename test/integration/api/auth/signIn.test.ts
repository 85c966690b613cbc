import { expect } from "chai";
import { AuthSession, ProvidersResponse } from "#contracts/http/auth.ts";
import { aUser, type TestUser } from "#test/factories/catalog.ts";
import { TestApi } from "#test/support/http/api.ts";
import { expectErrorResponse, type ApiResponse } from "#test/support/http/apiClient.ts";
import { csrfToken, postSignIn, postSignOut } from "#test/support/http/authForms.ts";

const cookieName = "auth.session-token";

describe("sign-in", () => {
  let api: TestApi;
  let user: TestUser;

  before(async () => {
    api = await TestApi.start();
    user = await aUser(api.deps, { name: "Grace", image: "https://pictures.test/grace.png" });
  });
  after(() => api.stop());
  beforeEach(() => api.deps.redis.flushdb());

  function urlOf(response: ApiResponse): URL {
    return new URL(response.json<{ url: string }>().url);
  }

  it("returns a session that ends when its cookie does", async () => {
    const browser = api.anonymous();
    expect((await browser.get("/api/auth/session")).json()).to.deep.equal({});
    const signInResponse = await postSignIn(browser, user, {
      json: "true",
      callbackUrl: `${api.url}/games/x?y=1`,
    });
    expect(signInResponse.status, signInResponse.text).to.equal(200);
    expect(signInResponse.json()).to.deep.equal({ url: `${api.url}/games/x?y=1` });
    const response = await browser.get("/api/auth/session", { "content-type": "application/json" });
    const session = AuthSession.parse(response.json());
    expect(session.user).to.deep.equal({
      id: user.id,
      name: "Grace",
      email: user.email,
      image: "https://pictures.test/grace.png",
    });
    expect(response.headers.get("cache-control")).to.equal("no-store");
    const [cookie] = response.setCookies;
    expect(cookie).to.match(/^auth\.session-token=ey[^;]+; Path=\/; HttpOnly; SameSite=Lax; Expires=/);
    expect(new Date(session.expires).getTime()).to.equal(Date.parse(cookie!.replace(/^.*Expires=/, "")));
    const [, claims = ""] = (browser.cookies.get("auth.session-token") ?? "").split(".");
    expect(JSON.parse(Buffer.from(claims, "base64url").toString())).to.have.property(
      "exp",
      Date.parse(session.expires) / 1000,
    );
  });

  it("redirects a plain form without scripts", async () => {
    const browser = api.anonymous();
    const right = await postSignIn(browser, user, { callbackUrl: "/library" });
    expect(right.status).to.equal(302);
    expect(right.headers.get("location")).to.equal(`${api.url}/library`);
    const wrong = await postSignIn(browser, { ...user, password: "wrong" }, {});
    expect(wrong.status).to.equal(302);
    expect(wrong.headers.get("location")).to.equal(
      `${api.url}/api/auth/signin?error=CredentialsSignin&code=credentials`,
    );
  });

  it("responds with JSON to the newer client's header, JSON bodies and Accept", async () => {
    const browser = api.anonymous();
    const body = new URLSearchParams({ ...user, csrfToken: await csrfToken(browser) });
    for (const headers of [{ "x-auth-return-redirect": "1" }, { accept: "application/json" }]) {
      expect(
        (
          await browser.post("/api/auth/callback/credentials", body, headers as Record<string, string>)
        ).json(),
      ).to.deep.equal({ url: `${api.url}/` });
    }
    const json = await browser.post("/api/auth/callback/credentials", {
      ...user,
      json: true,
      csrfToken: await csrfToken(browser),
    });
    expect(json.json()).to.deep.equal({ url: `${api.url}/` });
  });

  it("redirects clients that accept more than JSON, in any order, also after a sign-out", async () => {
    const browser = api.anonymous();
    const post = async (path: string, accept: string, form: Record<string, string>): Promise<ApiResponse> =>
      browser.post(path, new URLSearchParams({ ...form, csrfToken: await csrfToken(browser) }), { accept });
    for (const accept of [
      "application/json, text/plain, */*",
      "application/json;q=0.9, text/html",
      "text/html",
      "*/*",
    ]) {
      for (const [path, form, location] of [
        [
          "/api/auth/callback/credentials",
          { ...user, password: "wrong" },
          `${api.url}/api/auth/signin?error=CredentialsSignin&code=credentials`,
        ],
        ["/api/auth/callback/credentials", { ...user, callbackUrl: "/library" }, `${api.url}/library`],
        ["/api/auth/signout", { callbackUrl: "/bye" }, `${api.url}/bye`],
      ] as const) {
        const response = await post(path, accept, form);
        expect([response.status, response.headers.get("location")], `${path} with ${accept}`).to.deep.equal([
          302,
          location,
        ]);
      }
    }
    for (const accept of ["application/json", "application/json; charset=utf-8", "Application/JSON;q=1"]) {
      expect((await post("/api/auth/signout", accept, {})).json(), accept).to.deep.equal({
        url: `${api.url}/`,
      });
    }
  });

  it("returns the same response for a wrong password, an unknown address and an account without a password", async () => {
    const { email } = await aUser(api.deps);
    await api.deps.postgres.prisma.user.update({ where: { email }, data: { passwordHash: null } });
    const bodies = new Set<string>();
    for (const credentials of [
      { email: user.email, password: "wrong" },
      { email: "nobody@example.test", password: "wrong" },
      { email, password: "" },
      { email: "not an address", password: "x" },
      { email: `${"x".repeat(300)}@example.test`, password: "x" },
      { email: "a@b\u0000", password: "x" },
      { email: user.email, password: "y".repeat(5000) },
    ]) {
      const response = await postSignIn(api.anonymous(), credentials);
      expectErrorResponse(response, 401, "invalid_credentials");
      expect(urlOf(response).search).to.equal("?error=CredentialsSignin&code=credentials");
      expect(response.setCookies).to.be.empty;
      bodies.add(JSON.stringify({ ...response.json(), requestId: "" }));
    }
    expect(bodies.size).to.equal(1);
  });

  it("finds the account by any spelling of its address, and compares every byte of the password", async () => {
    const email = "mixed.case@example.test";
    const password = `${"é".repeat(40)}64\u{1F3AE}`;
    await aUser(api.deps, { email, password });
    expect(
      (await postSignIn(api.anonymous(), { email: "  Mixed.CASE@Example.Test ", password })).status,
    ).to.equal(200);
    expect(
      (await postSignIn(api.anonymous(), { email, password: `${"é".repeat(40)}65\u{1F3AE}` })).status,
    ).to.equal(401);
    expect((await postSignIn(api.anonymous(), { email, password: `${password} ` })).status).to.equal(401);
  });

  it("says that an account is disabled only after the right password, and ends its session", async () => {
    const disabled = await aUser(api.deps);
    const browser = api.as(disabled);
    expect((await browser.get("/api/auth/session")).json()).to.have.property("user");
    await api.deps.postgres.prisma.user.update({
      where: { id: disabled.id },
      data: { disabledAt: new Date() },
    });
    expectErrorResponse(
      await postSignIn(api.anonymous(), { ...disabled, password: "wrong" }),
      401,
      "invalid_credentials",
    );
    const refused = await postSignIn(api.anonymous(), disabled);
    expectErrorResponse(refused, 401, "account_disabled");
    expect(refused.json())
      .to.have.property("message")
      .that.matches(/account is disabled/);
    expect(refused.setCookies).to.be.empty;
    await api.deps.redis.flushdb(); // The database is asked for the sign-in again.
    expect((await browser.get("/api/auth/session")).json()).to.deep.equal({});
    expect(browser.cookies.has(cookieName)).to.be.false;
  });

  it("requires the form's token of the same browser, and counts no failure without it", async () => {
    const browser = api.anonymous();
    const other = await csrfToken(api.anonymous());
    await csrfToken(browser);
    for (const form of [
      { ...user },
      { ...user, csrfToken: "" },
      { ...user, csrfToken: other },
      { ...user, csrfToken: "0".repeat(64) },
    ]) {
      for (let attempt = 0; attempt < 2; attempt += 1) {
        const response = await browser.post(
          "/api/auth/callback/credentials",
          new URLSearchParams({ ...form, json: "true" }),
        );
        expectErrorResponse(response, 403, "csrf");
        expect(urlOf(response).searchParams.get("error")).to.equal("MissingCSRF");
        expect(urlOf(response).searchParams.get("csrf")).to.equal("true");
        expect(response.setCookies).to.be.empty;
      }
    }
    browser.cookies.set("auth.csrf-token", `${"0".repeat(64)}|${"0".repeat(64)}`);
    expectErrorResponse(
      await browser.post(
        "/api/auth/callback/credentials",
        new URLSearchParams({ ...user, csrfToken: "0".repeat(64), json: "true" }),
      ),
      403,
      "csrf",
    );
    const plain = await browser.post("/api/auth/callback/credentials", new URLSearchParams({ ...user }));
    expect(plain.headers.get("location")).to.equal(`${api.url}/api/auth/signin?error=MissingCSRF&csrf=true`);
    for (const path of ["/api/auth/callback/credentials", "/api/auth/signout"]) {
      const empty = await browser.request("POST", path, {});
      expect({ status: empty.status, location: empty.headers.get("location") }, path).to.deep.equal({
        status: 302,
        location: plain.headers.get("location"),
      });
    }
    expect((await postSignIn(api.anonymous(), user)).status).to.equal(200);
  });

  it("keeps one token per browser for sign-in and the later sign-out", async () => {
    const browser = api.anonymous();
    const first = await csrfToken(browser);
    expect(first).to.match(/^[0-9a-f]{64}$/);
    expect((await api.anonymous().get("/api/auth/csrf")).setCookies[0]).to.match(
      /^auth\.csrf-token=[0-9a-f]{64}\|[0-9a-f]{64}; Path=\/; HttpOnly; SameSite=Lax$/,
    );
    await postSignIn(browser, user);
    const again = await browser.get("/api/auth/csrf");
    expect(again.json()).to.deep.equal({ csrfToken: first });
    expect(again.setCookies).to.be.empty;
    browser.cookies.set("auth.csrf-token", "broken");
    expect(await csrfToken(browser)).to.not.equal(first);
  });

  for (const callbackUrl of [
    "https://evil.test/",
    "//evil.test",
    "/\\evil.test",
    "\\\\evil.test",
    "https:evil.test",
    "http://user@127.0.0.1/",
    "javascript:alert(1)",
    "data:text/html,x",
    "https://evil.test\r\nSet-Cookie: a=b",
    "/a\tb",
    "http://[",
    " ",
    "%",
    "x".repeat(3000),
    "http:///evil.test",
  ]) {
    it(`redirects to the home page instead of to ${JSON.stringify(callbackUrl).slice(0, 40)}`, async () => {
      expect((await postSignIn(api.anonymous(), user, { json: "true", callbackUrl })).json()).to.deep.equal({
        url: `${api.url}/`,
      });
    });
  }

  it("never derives its own address from the request", async () => {
    const browser = api.anonymous();
    const headers = { "x-forwarded-host": "evil.test", "x-forwarded-proto": "https" };
    const body = new URLSearchParams({ ...user, csrfToken: await csrfToken(browser), json: "true" });
    const response = await browser.post("/api/auth/callback/credentials", body, headers);
    expect(response.text).to.not.contain("evil");
    expect((await browser.get("/api/auth/providers", headers)).text).to.not.contain("evil");
  });

  it("ends the browser's previous session", async () => {
    const browser = api.as(user);
    await browser.get("/api/games");
    const planted = browser.cookies.get(cookieName)!;
    await postSignIn(browser, user);
    const thief = api.anonymous();
    thief.cookies.set(cookieName, planted);
    expectErrorResponse(await thief.get("/api/games"), 401, "unauthorized");
    expect(thief.cookies.has(cookieName)).to.be.false;
    expect((await browser.get("/api/games")).status).to.equal(200);
  });

  it("lists its one provider, and accepts a page's error log without storing it", async () => {
    const browser = api.anonymous();
    const providers = ProvidersResponse.parse((await browser.get("/api/auth/providers")).json());
    expect(providers).to.deep.equal({
      credentials: {
        id: "credentials",
        name: "E-mail and password",
        type: "credentials",
        signinUrl: `${api.url}/api/auth/signin/credentials`,
        callbackUrl: `${api.url}/api/auth/callback/credentials`,
      },
    });
    expect(
      (await browser.post("/api/auth/_log", new URLSearchParams({ message: "canary-report" }))).status,
    ).to.equal(204);
    expect(api.logLines.join("")).to.not.contain("canary-report");
  });

  it("re-reads the session on update, whatever data the page sends", async () => {
    const browser = api.as(user);
    const update = await browser.post("/api/auth/session", {
      csrfToken: await csrfToken(browser),
      data: { user: { id: "root" } },
    });
    expect(AuthSession.parse(update.json()).user.id).to.equal(user.id);
    expectErrorResponse(await browser.post("/api/auth/session", { csrfToken: "x" }), 403, "csrf");
  });

  it("limits the form's size and accepts only forms and JSON, by POST", async () => {
    const browser = api.anonymous();
    const path = "/api/auth/callback/credentials";
    const refused = async (
      body: unknown,
      status: number,
      code: string,
      headers?: Record<string, string>,
    ): Promise<void> => {
      const signInResponse = await browser.post(path, body, headers);
      expectErrorResponse(signInResponse, status, code);
      expect(urlOf(signInResponse).searchParams.get("code"), "for the client's form").to.equal(code);
    };
    await refused(new URLSearchParams({ email: "x".repeat(9000) }), 413, "payload_too_large");
    await refused("email=a", 415, "unsupported_media_type", { "content-type": "text/plain" });
    await refused("{", 400, "invalid_request", { "content-type": "application/json" });
    const get = await browser.get(path);
    expectErrorResponse(get, 405, "method_not_allowed");
    expect(get.headers.get("allow")).to.equal("POST, OPTIONS");
  });

  it("limits POST requests per network address", async () => {
    const browser = api.anonymous();
    // Nobody in front of this API is believed, whatever address they name.
    const responses = await Promise.all(
      Array.from({ length: 62 }, (_, index) =>
        browser.post("/api/auth/signout", new URLSearchParams({ json: "true" }), {
          "x-forwarded-for": `203.0.113.${index}`,
        }),
      ),
    );
    const limited = responses.filter(({ status }) => status === 429);
    expect(limited).to.have.length(2);
    expectErrorResponse(limited[0]!, 429, "rate_limited");
    expect(Number(limited[0]!.headers.get("retry-after"))).to.be.within(1, 60);
    expect(urlOf(limited[0]!).pathname).to.equal("/api/auth/signin");
    const unreadable = await browser.post("/api/auth/signout", "json=true", { "content-type": "text/plain" });
    expectErrorResponse(unreadable, 429, "rate_limited");
    expect(urlOf(unreadable).pathname).to.equal("/api/auth/signin");
  });

  it("limits GET requests per network address", async () => {
    const browser = api.anonymous();
    const paths = ["/api/auth/session", "/api/auth/csrf", "/api/auth/providers", "/api/auth/signin"];
    const responses = await Promise.all(
      Array.from({ length: 123 }, (_, index) => browser.get(paths[index % paths.length] ?? "")),
    );
    expect(responses.filter(({ status }) => status === 429)).to.have.length(3);
  });

  it("shows the configured picture for users without one", async () => {
    const pictured = await TestApi.start({
      database: api.database,
      env: { DEFAULT_AVATAR_URL: "https://pictures.test/nobody.png" },
    });
    try {
      const browser = pictured.as(await aUser(pictured.deps));
      expect(AuthSession.parse((await browser.get("/api/auth/session")).json()).user.image).to.equal(
        "https://pictures.test/nobody.png",
      );
      expect(
        AuthSession.parse((await pictured.as(user).get("/api/auth/session")).json()).user.image,
      ).to.equal("https://pictures.test/grace.png");
    } finally {
      await pictured.stop();
    }
  });

  it("uses the callback URL of the form, then of the query", async () => {
    const browser = api.anonymous();
    const post = async (fields: Record<string, string>): Promise<ApiResponse> =>
      browser.post(
        "/api/auth/callback/credentials?callbackUrl=/by-address",
        new URLSearchParams({
          email: user.email,
          password: user.password,
          csrfToken: await csrfToken(browser),
          json: "true",
          ...fields,
        }),
      );
    expect((await post({ callbackUrl: "/by-form" })).json()).to.deep.equal({ url: `${api.url}/by-form` });
    expect((await post({})).json()).to.deep.equal({ url: `${api.url}/by-address` });
  });

  it("uses the first of two callback URLs in the query", async () => {
    const browser = api.anonymous();
    const fields = {
      email: user.email,
      password: user.password,
      csrfToken: await csrfToken(browser),
      json: "true",
    };
    for (const query of ["callbackUrl=/first&callbackUrl=/second", "callbackUrl=/first&other=1&other=2"]) {
      const response = await browser.post(
        `/api/auth/callback/credentials?${query}`,
        new URLSearchParams(fields),
      );
      expect(response.json()).to.deep.equal({ url: `${api.url}/first` });
    }
  });

  it("is recorded in the audit trail, without secrets there or in the log", async () => {
    const browser = api.anonymous();
    await postSignIn(browser, { email: user.email, password: "canary-password" });
    await postSignIn(browser, user);
    await postSignOut(browser);
    const events = await api.deps.postgres.prisma.auditEvent.findMany({ orderBy: { id: "desc" }, take: 3 });
    expect(events.map(({ action }) => action)).to.deep.equal([
      "signOut",
      "signIn.succeeded",
      "signIn.failed",
    ]);
    expect(events[0]).to.include({ actorKind: "user", actorId: user.id, ipPrefix: "127.0.0.0/24" });
    const written = api.logLines.join("") + JSON.stringify(events.map((event) => ({ ...event, id: "" })));
    for (const secret of [
      "canary-password",
      user.password,
      user.email,
      browser.cookies.get("auth.csrf-token")!,
    ])
      expect(written).to.not.contain(secret);
  });

  it("does not let the API rewrite the audit trail", async () => {
    const error = await api.deps.postgres.pool
      .query("DELETE FROM audit_events")
      .catch((failure: unknown) => failure);
    expect(String(error)).to.contain("append-only");
  });
});

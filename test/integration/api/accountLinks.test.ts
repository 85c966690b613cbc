import { expect } from "chai";
import { sweepAccountLinks } from "#api/accounts/links/accountLinks.ts";
import { aUser, type TestUser } from "#test/factories/catalog.ts";
import { TestApi } from "#test/support/http/api.ts";
import { expectErrorResponse, type ApiClient, type ApiResponse } from "#test/support/http/apiClient.ts";
import { postSignIn } from "#test/support/http/authForms.ts";
import { MailServer, tokenIn } from "#test/support/mail/mailServer.ts";
import { FaultyIssuer } from "#test/support/oidc/faultyIssuer.ts";
import { providersEnv } from "#test/support/oidc/providersFile.ts";

const password = "a quite uncommon password";
const other = "another uncommon password";

describe("accounts by one-time links", function () {
  this.timeout(60_000);
  let mail: MailServer;
  let issuer: FaultyIssuer;
  let api: TestApi;
  let addresses = 0;

  before(async () => {
    [mail, issuer] = await Promise.all([MailServer.start(), FaultyIssuer.start()]);
    const oidc = { id: "example", name: "Example", type: "oidc", clientId: "joypod", issuer: issuer.url };
    api = await TestApi.start({
      env: { ...mail.env, SIGN_UP: "open", ...providersEnv([{ ...oidc, allowInsecure: true }]) },
    });
  });
  after(async () => {
    await api.stop();
    await Promise.all([mail.stop(), issuer.stop()]);
  });
  beforeEach(() => api.deps.redis.flushdb());
  afterEach(async () => {
    await api.deps.mailWork.settled();
    mail.mails.length = 0;
  });

  const anAddress = (): string => `player-${++addresses}@example.test`;
  const post = (path: string, body: object, browser = api.anonymous()): Promise<ApiResponse> =>
    browser.post(`/api/auth/${path}`, body);
  const userOf = (email: string) => api.deps.postgres.prisma.user.findUnique({ where: { email } });
  const isSignedIn = async (browser: ApiClient): Promise<boolean> =>
    (await browser.get("/api/games")).status === 200;

  async function signUp(email: string, fields: object = {}): Promise<string> {
    const response = await post("sign-up", { email, name: "New Player", password, ...fields });
    expect(response.status, response.text).to.equal(204);
    return tokenIn((await mail.next(email)).text);
  }

  async function forgot(email: string): Promise<string> {
    expect((await post("forgot-password", { email })).status).to.equal(204);
    return tokenIn((await mail.next(email)).text);
  }

  describe("sign-up", () => {
    it("opens an account that can sign in once its address is confirmed", async () => {
      const email = anAddress();
      const typed = ` ${email.toUpperCase()} `;
      expect((await post("sign-up", { email: typed, name: "New Player", password })).status).to.equal(204);
      const token = tokenIn((await mail.next(email)).text);
      expectErrorResponse(await postSignIn(api.anonymous(), { email, password }), 403, "unconfirmed");
      expectErrorResponse(
        await postSignIn(api.anonymous(), { email, password: other }),
        401,
        "invalid_credentials",
      );
      const shown = await post("link", { token });
      expect(shown.json()).to.include({ purpose: "confirmation", email });
      const browser = api.anonymous();
      expectErrorResponse(
        await post("confirm-sign-up", { token, password: other }, browser),
        401,
        "invalid_credentials",
      );
      expect((await post("confirm-sign-up", { token, password }, browser)).status).to.equal(204);
      expect(await isSignedIn(browser)).to.equal(true);
      expect((await postSignIn(api.anonymous(), { email, password })).status).to.equal(200);
      expect(await userOf(email)).to.include({ name: "New Player", confirmBy: null });
      expectErrorResponse(await post("confirm-sign-up", { token, password }), 404, "invalid_link");
      expectErrorResponse(await post("link", { token }), 404, "invalid_link");
    });

    it("lets the last of two sign-ups choose name and password", async () => {
      const email = anAddress();
      const first = await signUp(email, { password: other, name: "Somebody Else" });
      const token = await signUp(email);
      expectErrorResponse(
        await post("confirm-sign-up", { token: first, password: other }),
        404,
        "invalid_link",
      );
      expect((await post("confirm-sign-up", { token, password })).status).to.equal(204);
      expect(await userOf(email)).to.include({ name: "New Player" });
    });

    it("tells the owner of an existing account, changes nothing, and responds alike", async () => {
      const user = await aUser(api.deps);
      const responses = await Promise.all(
        [user.email, anAddress()].map((email) => post("sign-up", { email, name: "Thief", password })),
      );
      const seen = responses.map(({ status, text, headers }) => [
        status,
        text,
        [...headers].filter(([name]) => name !== "date" && name !== "x-request-id" && name !== "ratelimit"),
      ]);
      expect(seen[0]).to.deep.equal(seen[1]);
      const { text, subject } = await mail.next(user.email);
      expect(subject).to.equal("You already have a Joypod account");
      expect(text).to.contain(`${api.url}/forgot-password`);
      expect(await userOf(user.email)).to.include({ name: user.name });
      expect((await postSignIn(api.anonymous(), user)).status).to.equal(200);
    });

    it("deletes accounts that are not confirmed in time, and expired links", async () => {
      const [late, inTime] = [anAddress(), anAddress()];
      const token = await signUp(late);
      await signUp(inTime);
      const { pool } = api.deps.postgres;
      await pool.query("UPDATE users SET confirm_by = now() - interval '1 second' WHERE email = $1", [late]);
      expectErrorResponse(await post("confirm-sign-up", { token, password }), 404, "invalid_link");
      await pool.query("UPDATE account_links SET expires_at = now() WHERE email = $1", [inTime]);
      await sweepAccountLinks(api.deps);
      expect(await userOf(late)).to.equal(null);
      expect(await userOf(inTime)).to.not.equal(null);
      expect(await api.deps.postgres.prisma.accountLink.count({ where: { email: inTime } })).to.equal(0);
    });

    it("does not keep the owner of an address out who signs in with a provider", async () => {
      const email = anAddress();
      await signUp(email);
      issuer.misbehaviour = { claims: { sub: email, email, email_verified: true } };
      const browser = api.anonymous();
      const { csrfToken } = (await browser.get("/api/auth/csrf")).json<{ csrfToken: string }>();
      const begun = await browser.post(
        "/api/auth/signin/example",
        new URLSearchParams({ csrfToken, json: "true" }),
      );
      const back = new URL(
        (await fetch(begun.json<{ url: string }>().url, { redirect: "manual" })).headers.get("location") ??
          "",
      );
      await browser.get(back.pathname + back.search);
      expect(await isSignedIn(browser)).to.equal(true);
      expect(await userOf(email)).to.include({ confirmBy: null, passwordHash: null });
    });

    it("refuses weak passwords, and texts that are no address", async () => {
      expectErrorResponse(
        await post("sign-up", { email: anAddress(), name: "A", password: "Password1" }),
        400,
        "common_password",
      );
      for (const email of ["nobody", "a@b,c@d", "A <a@b.test>", "a@b.test\nBcc: c@d.test", "a＠b@c.test"])
        expectErrorResponse(await post("sign-up", { email, name: "A", password }), 400, "invalid_request");
    });
  });

  describe("a forgotten password", () => {
    let user: TestUser;
    beforeEach(async () => {
      user = await aUser(api.deps);
    });

    it("is replaced with a mailed link, which ends all sign-ins", async () => {
      const thief = api.as(user);
      expect(await isSignedIn(thief)).to.equal(true);
      const token = await forgot(user.email);
      const browser = api.anonymous();
      expectErrorResponse(
        await post("reset-password", { token, newPassword: "Password1" }, browser),
        400,
        "common_password",
      );
      expect((await post("reset-password", { token, newPassword: other }, browser)).status).to.equal(204);
      expect(await isSignedIn(browser)).to.equal(true);
      expect(await isSignedIn(thief)).to.equal(false);
      expectErrorResponse(await postSignIn(api.anonymous(), user), 401, "invalid_credentials");
      expect((await postSignIn(api.anonymous(), { ...user, password: other })).status).to.equal(200);
      expectErrorResponse(
        await post("reset-password", { token, newPassword: password }),
        404,
        "invalid_link",
      );
    });

    it("is replaced once by two requests with one link at the same time", async () => {
      const token = await forgot(user.email);
      const statuses = await Promise.all(
        [password, other].map(
          async (newPassword) => (await post("reset-password", { token, newPassword })).status,
        ),
      );
      expect(statuses.toSorted()).to.deep.equal([204, 404]);
    });

    it("makes an account usable that another person opened with the address", async () => {
      const email = anAddress();
      await signUp(email, { password: other });
      const token = await forgot(email);
      expect((await post("reset-password", { token, newPassword: password })).status).to.equal(204);
      expectErrorResponse(
        await postSignIn(api.anonymous(), { email, password: other }),
        401,
        "invalid_credentials",
      );
    });

    it("gets the same response for any address, and no mail without an enabled account", async () => {
      const disabled = await aUser(api.deps);
      const issued = await forgot(disabled.email);
      await api.deps.postgres.prisma.user.update({
        where: { id: disabled.id },
        data: { disabledAt: new Date() },
      });
      const seen = new Set<string>();
      for (const email of [anAddress(), disabled.email, user.email]) {
        const { status, text, headers } = await post("forgot-password", { email });
        const names = [...headers.keys()];
        seen.add(JSON.stringify([status, text, names]));
      }
      expect([...seen]).to.have.length(1);
      await mail.next(user.email);
      await api.deps.mailWork.settled();
      expect(mail.mails).to.deep.equal([]);
      expectErrorResponse(
        await post("reset-password", { token: issued, newPassword: other }),
        404,
        "invalid_link",
      );
    });

    it("is mailed at most five times an hour to one account, known or not", async () => {
      for (const email of [user.email, anAddress()]) {
        for (let request = 1; request <= 5; request++)
          expect((await post("forgot-password", { email })).status).to.equal(204);
        expectErrorResponse(await post("forgot-password", { email }), 429, "rate_limited");
      }
      await api.deps.mailWork.settled();
      expect(mail.mails).to.have.length(5);
    });

    it("is mailed in spite of a server that is busy for a moment", async () => {
      mail.refusals = 1;
      await forgot(user.email);
      expect(await api.deps.metrics.registry.metrics()).to.match(/joypod_mails_total\{outcome="failed"\} 0/);
    });
  });

  it("stores no tokens, and logs neither tokens nor the server's password", async () => {
    const user = await aUser(api.deps);
    const token = await forgot(user.email);
    await post("reset-password", { token, newPassword: other });
    const { rows } = await api.deps.postgres.pool.query("SELECT * FROM account_links");
    expect(JSON.stringify(rows)).to.not.contain(token);
    const log = api.logLines.join("");
    for (const secret of [token, other, mail.env["SMTP_PASSWORD"] ?? "", user.email])
      expect(log).to.not.contain(secret);
  });

  it("refuses posts of other sites' pages", async () => {
    for (const [path, body] of Object.entries({
      "sign-up": { email: "a@b.test", name: "A", password },
      "forgot-password": { email: "a@b.test" },
    }))
      expectErrorResponse(
        await api.anonymous().post(`/api/auth/${path}`, body, { origin: "https://evil.test" }),
        403,
        "forbidden",
      );
  });

  it("is limited to what the site allows", async () => {
    for (const [mode, says] of [
      ["closed", "opens no accounts"],
      ["invite", "need an invitation"],
    ] as const) {
      const site = await TestApi.start({ env: { SIGN_UP: mode } });
      try {
        const client = site.anonymous();
        expect((await client.get("/api/auth/sign-up")).json()).to.deep.equal({ mode, sendsMail: false });
        const refused = await client.post("/api/auth/sign-up", { email: "a@b.test", name: "A", password });
        expectErrorResponse(refused, 403, "sign_up_closed");
        expect(refused.json()["message"]).to.contain(says);
        const asked = await client.post("/api/auth/forgot-password", { email: "a@b.test" });
        expectErrorResponse(asked, 409, "no_mail");
        expect(asked.json()["message"]).to.contain("sends no mail");
        const accepted = await client.post("/api/auth/accept-invitation", {
          token: "0".repeat(43),
          name: "A",
          password,
        });
        if (mode === "closed") expectErrorResponse(accepted, 403, "sign_up_closed");
        else expectErrorResponse(accepted, 404, "invalid_link");
      } finally {
        await site.stop();
      }
    }
  });
});

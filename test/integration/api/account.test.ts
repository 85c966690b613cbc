import { expect } from "chai";
import { limits } from "#contracts/limits.ts";
import type { SignIn } from "#contracts/http/account.ts";
import { aUser, type TestUser } from "#test/factories/catalog.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { FakeClock } from "#test/support/clocks/fakeClock.ts";
import { TestApi } from "#test/support/http/api.ts";
import { expectErrorResponse, type ApiClient, type ApiResponse } from "#test/support/http/apiClient.ts";
import { postProviderSignIn, postSignIn } from "#test/support/http/authForms.ts";
import { FaultyIssuer } from "#test/support/oidc/faultyIssuer.ts";
import { providersEnv } from "#test/support/oidc/providersFile.ts";
import { StatementLog } from "#test/support/stores/statementLog.ts";

const cookieName = "auth.session-token";
const newPassword = "a quite uncommon password";
const tooOldMs = limits.auth.recentSignInSeconds * 1000;
const firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
const safari =
  "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1";

describe("a player's account", () => {
  let api: TestApi;
  let clock: FakeClock;
  let issuer: FaultyIssuer;
  let other: FaultyIssuer;
  let user: TestUser;
  let subjects = 0;

  before(async () => {
    [issuer, other] = await Promise.all([FaultyIssuer.start(), FaultyIssuer.start()]);
    clock = new FakeClock(new Date());
    const oidc = { type: "oidc", clientId: "joypod", allowInsecure: true };
    api = await TestApi.start({
      clock,
      env: {
        TRUSTED_PROXIES: "1",
        ...providersEnv([
          { ...oidc, id: "example", name: "Example", issuer: issuer.url },
          { ...oidc, id: "other", name: "Other", issuer: other.url },
        ]),
      },
    });
  });
  after(async () => {
    await api.stop();
    await Promise.all([issuer.stop(), other.stop()]);
  });
  beforeEach(async () => {
    await api.deps.redis.flushdb();
    user = await aUser(api.deps);
    arriveAs(`subject-${++subjects}`);
  });

  /** Whom the providers call their visitor from now on. */
  function arriveAs(sub: string): void {
    for (const provider of [issuer, other])
      provider.misbehaviour = { claims: { sub, email: `${sub}@example.test` } };
  }

  async function signedIn(headers: Record<string, string> = {}): Promise<ApiClient> {
    const browser = api.anonymous();
    const { csrfToken } = (await browser.get("/api/auth/csrf")).json<{ csrfToken: string }>();
    const form = new URLSearchParams({ email: user.email, password: user.password, csrfToken, json: "true" });
    expect((await browser.post("/api/auth/callback/credentials", form, headers)).status).to.equal(200);
    return browser;
  }

  /** A browser in which the player signed in longer ago than counts as proof. */
  async function longSignedIn(): Promise<ApiClient> {
    const browser = await signedIn();
    await clock.advance(tooOldMs);
    return browser;
  }

  /** A browser with a copy of another one's cookie. */
  function thiefOf(browser: ApiClient): ApiClient {
    const thief = api.anonymous();
    thief.cookies.set(cookieName, browser.cookies.get(cookieName) ?? "");
    return thief;
  }

  /** Goes to the provider and comes back, as a browser does. */
  async function visit(
    browser: ApiClient,
    id = "example",
    fields: Record<string, string> = {},
  ): Promise<ApiResponse> {
    const begun = await postProviderSignIn(browser, id, { json: "true", callbackUrl: "/account", ...fields });
    if (begun.status !== 200) return begun;
    const back = new URL(
      (await fetch(begun.json<{ url: string }>().url, { redirect: "manual" })).headers.get("location") ?? "",
    );
    return browser.get(back.pathname + back.search);
  }

  /** A player who has no password, signed in by the provider just now. */
  async function playerOfProvider(): Promise<ApiClient> {
    const browser = api.anonymous();
    expect((await visit(browser)).headers.get("location")).to.equal(`${api.url}/account`);
    return browser;
  }

  const setPassword = (browser: ApiClient, fields: object = {}): Promise<ApiResponse> =>
    browser.put("/api/account/password", { newPassword, ...fields });
  const unlink = (browser: ApiClient, fields: object = {}, id = "example"): Promise<ApiResponse> =>
    browser.post(`/api/account/providers/${id}/unlink`, fields);
  const signIns = async (browser: ApiClient): Promise<SignIn[]> =>
    (await browser.get("/api/account/sign-ins")).json<{ signIns: SignIn[] }>().signIns;
  const linkedTo = (): Promise<number> =>
    api.deps.postgres.prisma.identity.count({ where: { userId: user.id } });
  const passwordHash = async (): Promise<string | null> =>
    (await api.deps.postgres.prisma.user.findUniqueOrThrow({ where: { id: user.id } })).passwordHash;

  async function expectSignedOut(browser: ApiClient): Promise<void> {
    expectErrorResponse(await browser.get("/api/account/sign-ins"), 401, "unauthorized");
  }

  describe("asks for the password on an old sign-in", () => {
    const changes: [
      what: string,
      change: (browser: ApiClient, fields: Record<string, string>) => Promise<ApiResponse>,
      done: number,
    ][] = [
      ["before another one is set", setPassword, 200],
      [
        "before a provider is linked",
        (browser, fields) => postProviderSignIn(browser, "example", { json: "true", ...fields }),
        200,
      ],
      ["before a provider is unlinked", unlink, 204],
    ];
    for (const [what, change, done] of changes) {
      it(what, async () => {
        const browser = await longSignedIn();
        const refused = await change(browser, {});
        expectErrorResponse(refused, 403, "reauthentication_required");
        expect(refused.json()["message"]).to.match(/password, or sign in again/);
        expectErrorResponse(
          await change(browser, { currentPassword: "not this one" }),
          403,
          "reauthentication_required",
        );
        expect((await change(browser, { currentPassword: user.password })).status).to.equal(done);
      });

      it(`${what}, and no sign-in of the last minutes, but of no wrong password`, async () => {
        const browser = await signedIn();
        await clock.advance(tooOldMs - 1000);
        expectErrorResponse(
          await change(browser, { currentPassword: "not this one" }),
          403,
          "reauthentication_required",
        );
        expect((await change(browser, {})).status).to.equal(done);
      });
    }

    it("and changes nothing in the meantime", async () => {
      expect((await visit(await signedIn())).headers.get("location")).to.equal(`${api.url}/account`);
      const browser = await longSignedIn();
      const before = await passwordHash();
      await setPassword(browser);
      await unlink(browser);
      expect(await passwordHash()).to.equal(before);
      expect(await linkedTo()).to.equal(1);
    });

    it("and counts wrong passwords together with those of the sign-in, towards the same lock", async () => {
      const browser = await longSignedIn();
      for (let failures = 0; failures < 3; failures += 1)
        await setPassword(browser, { currentPassword: `wrong ${failures}` });
      for (let failures = 0; failures < 2; failures += 1)
        expectErrorResponse(
          await postSignIn(api.anonymous(), { ...user, password: "wrong" }),
          401,
          "invalid_credentials",
        );
      expectErrorResponse(await setPassword(browser, { currentPassword: user.password }), 429, "locked");
      expectErrorResponse(await postSignIn(api.anonymous(), user), 429, "locked");
    });

    it("and redirects a plain form to the sign-in page with the reason", async () => {
      const response = await postProviderSignIn(await longSignedIn(), "example", {});
      expect(response.headers.get("location")).to.equal(
        `${api.url}/api/auth/signin?error=ReauthenticationRequired`,
      );
    });
  });

  describe("with a new password", () => {
    it("leaves only this browser signed in, with a new cookie", async () => {
      const [browser, elsewhere] = [await signedIn(), await signedIn()];
      const copy = thiefOf(browser);
      expect((await setPassword(browser)).json()).to.deep.equal({ endedSignIns: 1 });
      for (const ended of [elsewhere, copy]) await expectSignedOut(ended);
      expect(await signIns(browser)).to.have.length(1);
      expectErrorResponse(await postSignIn(api.anonymous(), user), 401, "invalid_credentials");
      expect((await postSignIn(api.anonymous(), { ...user, password: newPassword })).status).to.equal(200);
      const [event] = await api.deps.postgres.prisma.auditEvent.findMany({
        where: { actorId: user.id, action: "user.passwordChanged" },
      });
      expect(event).to.deep.include({ subjectId: user.id, details: { endedSignIns: 1 } });
    });

    it("lets a player who signed in with a provider sign in by e-mail", async () => {
      const browser = await playerOfProvider();
      const { email } = (await browser.get("/api/auth/session")).json<{ user: TestUser }>().user;
      expect((await setPassword(browser)).status).to.equal(200);
      expect((await postSignIn(api.anonymous(), { email, password: newPassword })).status).to.equal(200);
    });

    it("rejects a short password, and a common one in any case", async () => {
      const browser = await signedIn();
      for (const [password, error] of [
        ["l3tte!s", "invalid_request"],
        ["12345678", "common_password"],
        ["PassWord1", "common_password"],
        ["x".repeat(1025), "invalid_request"],
        ["漢".repeat(950), "invalid_request"],
      ] as const) {
        expectErrorResponse(await setPassword(browser, { newPassword: password }), 400, error);
      }
      expect((await postSignIn(api.anonymous(), user)).status).to.equal(200);
    });

    it("accepts the longest possible password in the sign-in form, whatever its characters", async () => {
      const browser = await signedIn();
      const password = "漢".repeat(680);
      expect((await setPassword(browser, { newPassword: password })).status).to.equal(200);
      expect((await postSignIn(api.anonymous(), { ...user, password })).status).to.equal(200);
    });

    it("still accepts an existing common password", async () => {
      user = await aUser(api.deps, { password: "qwerty" });
      const browser = await longSignedIn();
      expect((await setPassword(browser, { currentPassword: "qwerty" })).status).to.equal(200);
    });
  });

  describe("with a provider", () => {
    it("unlinks the provider, but never the last sign-in method", async () => {
      const browser = await playerOfProvider();
      expectErrorResponse(await unlink(browser), 409, "conflict");
      expect((await visit(browser, "other")).status).to.equal(302);
      expect((await unlink(browser)).status).to.equal(204);
      expect((await unlink(browser)).status).to.equal(204);
      expect(
        (await browser.get("/api/auth/methods"))
          .json<{ providers: { isLinked: boolean }[] }>()
          .providers.map(({ isLinked }) => isLinked),
      ).to.deep.equal([false, true]);
      expectErrorResponse(await unlink(browser, {}, "other"), 409, "conflict");
      expectErrorResponse(await unlink(browser, {}, "nowhere"), 404, "not_found");
      const id = (await browser.get("/api/auth/session")).json<{ user: TestUser }>().user.id;
      expect(
        await api.deps.postgres.prisma.auditEvent.count({
          where: { actorId: id, action: "identity.unlinked" },
        }),
      ).to.equal(1);
      await setPassword(browser);
      expect((await unlink(browser, {}, "other")).status).to.equal(204);
    });

    it("keeps one sign-in method when both are unlinked at once", async () => {
      const browser = await playerOfProvider();
      await visit(browser, "other");
      // Both have read what is linked, if they may, before either can delete anything.
      const { pool } = api.deps.postgres;
      const holder = await pool.connect();
      await holder.query("BEGIN; LOCK TABLE identities IN SHARE MODE");
      const unlinking = Promise.all(
        ["example", "other"].map(async (id) => (await unlink(browser, {}, id)).status),
      );
      try {
        await eventually(
          async () =>
            (
              await pool.query(
                "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
              )
            ).rowCount === 2,
        );
      } finally {
        await holder.query("COMMIT");
        holder.release();
      }
      expect((await unlinking).toSorted()).to.deep.equal([204, 409]);
    });

    it("reauthenticates by a new sign-in at the provider", async () => {
      const browser = await playerOfProvider();
      await clock.advance(tooOldMs);
      expectErrorResponse(await setPassword(browser), 403, "reauthentication_required");
      expect((await visit(browser)).headers.get("location")).to.equal(`${api.url}/account`);
      expect((await setPassword(browser)).status).to.equal(200);
    });

    it("does not link a second account of the provider on an old sign-in", async () => {
      const browser = await signedIn();
      await visit(browser);
      await clock.advance(tooOldMs);
      arriveAs(`somebody-else-${subjects}`);
      expect((await visit(browser)).headers.get("location")).to.equal(
        `${api.url}/api/auth/signin?error=ReauthenticationRequired`,
      );
      expect(await linkedTo()).to.equal(1);
      expect(
        (await visit(browser, "example", { currentPassword: user.password })).headers.get("location"),
      ).to.equal(`${api.url}/account`);
      expect(await linkedTo()).to.equal(2);
    });
  });

  describe("lists its sign-ins", () => {
    it("with device, network and last use, without those of others and ended ones", async () => {
      const phone = await signedIn({ "user-agent": safari, "x-forwarded-for": "2001:db8:12:34::5" });
      const browser = await signedIn({ "user-agent": firefox, "x-forwarded-for": "192.0.2.77" });
      const ended = await signedIn();
      await ended.post(
        "/api/auth/signout",
        new URLSearchParams({
          csrfToken: (await ended.get("/api/auth/csrf")).json<{ csrfToken: string }>().csrfToken,
        }),
      );
      await api.as(await aUser(api.deps)).get("/api/games");
      const seen = await signIns(browser);
      expect(
        seen.map(({ device, network, isCurrent }) => ({ device, network, isCurrent })),
      ).to.have.deep.members([
        { device: "Firefox on Linux", network: "192.0.2.0/24", isCurrent: true },
        { device: "Safari on iPhone", network: "2001:db8:12::/48", isCurrent: false },
      ]);
      for (const { signedInAt, lastUsedAt } of seen) {
        expect(Math.abs(clock.now().getTime() - Date.parse(signedInAt))).to.be.below(60_000);
        expect(Math.abs(Date.now() - Date.parse(lastUsedAt))).to.be.below(60_000);
      }
      expect((await signIns(phone)).find(({ isCurrent }) => isCurrent)?.device).to.equal("Safari on iPhone");
    });

    it("with the place of the last use, also for those that began before it was recorded", async () => {
      const browser = await signedIn();
      const { pool } = api.deps.postgres;
      await pool.query(
        "UPDATE auth_sessions SET device = NULL, ip_prefix = NULL, last_seen_at = now() - interval '6 minutes' WHERE user_id = $1",
        [user.id],
      );
      const place = { "user-agent": firefox, "x-forwarded-for": "198.51.100.9" };
      const [seen] = (await browser.get("/api/account/sign-ins", place)).json<{ signIns: SignIn[] }>()
        .signIns;
      expect(seen).to.include({ device: "Firefox on Linux", network: "198.51.100.0/24" });
      expect(Date.now() - Date.parse(seen?.lastUsedAt ?? "")).to.be.within(-5_000, 60_000);
    });

    it("without those whose cookies have all expired", async () => {
      const [browser, idle] = [await signedIn(), await signedIn()];
      const [old] = (await signIns(idle)).filter(({ isCurrent }) => isCurrent);
      await api.deps.postgres.pool.query(
        "UPDATE auth_sessions SET last_seen_at = now() - interval '31 days' WHERE id = $1",
        [old?.signInId],
      );
      expect((await signIns(browser)).map(({ isCurrent }) => isCurrent)).to.deep.equal([true]);
    });

    it("and ends one of them with its next request, but none of another player", async () => {
      const [browser, elsewhere] = [await signedIn(), await signedIn()];
      await elsewhere.get("/api/games");
      const [target] = (await signIns(browser)).filter(({ isCurrent }) => !isCurrent);
      const path = `/api/account/sign-ins/${target?.signInId}`;
      expectErrorResponse(await api.as(await aUser(api.deps)).delete(path), 404, "not_found");
      expect(await signIns(elsewhere)).to.have.length(2);
      expect((await browser.delete(path)).status).to.equal(204);
      await expectSignedOut(elsewhere);
      expectErrorResponse(await browser.delete(path), 404, "not_found");
      expect(await signIns(browser)).to.have.length(1);
    });

    it("and ends the current one immediately", async () => {
      const browser = await signedIn();
      const [own] = await signIns(browser);
      expect((await browser.delete(`/api/account/sign-ins/${own?.signInId}`)).status).to.equal(204);
      expect(browser.cookies.has(cookieName)).to.equal(false);
    });

    it("and ends all others, including copies of this browser's cookie, without resetting the age of the current one", async () => {
      const browser = await longSignedIn();
      const others = [await signedIn(), await signedIn(), thiefOf(browser)];
      for (const elsewhere of others) await elsewhere.get("/api/games");
      expect((await browser.delete("/api/account/sign-ins")).json()).to.deep.equal({ endedSignIns: 2 });
      for (const elsewhere of others) await expectSignedOut(elsewhere);
      expect(await signIns(browser)).to.have.length(1);
      expectErrorResponse(await setPassword(browser), 403, "reauthentication_required");
    });

    it("and records their use at most every few minutes, whatever Redis forgets, in the statement that checks them", async () => {
      const browser = await signedIn();
      const { pool, prisma } = api.deps.postgres;
      const versionOf = async (): Promise<string> =>
        (
          await pool.query<{ xmin: string }>("SELECT xmin::text FROM auth_sessions WHERE user_id = $1", [
            user.id,
          ])
        ).rows[0]?.xmin ?? "";
      await prisma.authSession.updateMany({
        where: { userId: user.id },
        data: { lastSeenAt: new Date(Date.now() - 6 * 60_000) },
      });
      const before = await versionOf();
      const statements = new StatementLog(pool);
      const keepalive = (): Promise<ApiResponse> =>
        browser.post("/api/game/keepalive", { sessionId: "gs-0000000000000000000a" });
      const requests = 5;
      const forgetful = await statements.during(async () => {
        for (let count = 0; count < requests; count += 1) {
          await api.deps.redis.flushdb();
          await keepalive();
        }
      });
      expect(forgetful.filter((name) => name.includes("auth-session"))).to.have.length(requests);
      const written = await versionOf();
      expect(written).to.not.equal(before);
      await api.deps.redis.flushdb();
      await keepalive();
      expect(await versionOf()).to.equal(written);
      const cached = await statements.during(async () => {
        for (let count = 0; count < requests; count += 1) await keepalive();
      });
      expect(cached.filter((name) => name.includes("auth-session"))).to.deep.equal([]);
    });
  });
});

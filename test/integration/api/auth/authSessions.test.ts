import { expect } from "chai";
import jsonwebtoken from "jsonwebtoken";
import { updateAuthSessionsRevoked } from "#api/auth/authSessionQueries.ts";
import { authSessionCacheKey, sweepAuthSessions } from "#api/auth/authSessions.ts";
import { aUser, type TestUser } from "#test/factories/catalog.ts";
import { TestApi } from "#test/support/http/api.ts";
import { expectErrorResponse, type ApiClient } from "#test/support/http/apiClient.ts";
import { csrfToken, postSignIn, postSignOut } from "#test/support/http/authForms.ts";
import { FakeClock } from "#test/support/clocks/fakeClock.ts";
import { startRedis, type TestRedis } from "#test/support/stores/redis.ts";
import { createTestDatabase, freezeDatabase, type TestDatabase } from "#test/support/stores/postgres.ts";

const cookieName = "auth.session-token";
const dayMs = 24 * 3600 * 1000;
const kidOf = (token: string): string | undefined =>
  jsonwebtoken.decode(token, { complete: true })?.header.kid;
const key = (byte: number): string =>
  Buffer.from(Array.from({ length: 32 }, (_, index) => (byte + index * 7) % 256)).toString("base64");

describe("auth sessions", () => {
  let api: TestApi;
  let redis: TestRedis;
  let database: TestDatabase;
  let clock: FakeClock;
  let user: TestUser;

  before(async () => {
    redis = await startRedis();
    database = await createTestDatabase();
    clock = new FakeClock();
    api = await TestApi.start({
      clock,
      database,
      redisUrl: redis.url,
      env: { SIGNING_KEYS: `one:${key(1)}`, REDIS_TIMEOUT_MS: "500" },
    });
    user = await aUser(api.deps);
  });
  after(async () => {
    await api.stop();
    await database.drop();
    await redis.server.stop();
  });

  function browserWith(token: string, of: TestApi = api): ApiClient {
    const browser = of.anonymous();
    browser.cookies.set(cookieName, token);
    return browser;
  }

  async function signedIn(): Promise<ApiClient> {
    const browser = api.anonymous();
    expect((await postSignIn(browser, user)).status).to.equal(200);
    return browser;
  }

  it("are cached for a minute after a database read, for an hour more during an outage, and their end for the lifetime of a token", async () => {
    const browser = await signedIn();
    const seen = async () =>
      await api.deps.postgres.prisma.authSession.findFirstOrThrow({
        where: { userId: user.id },
        orderBy: { createdAt: "desc" },
      });
    await browser.get("/api/games");
    const { id, lastSeenAt } = await seen();
    expect(lastSeenAt).to.be.instanceOf(Date);
    expect(await api.deps.redis.ttl(`joypod:authSession:${id}`)).to.be.within(3601, 3660);
    await browser.get("/api/games");
    expect((await seen()).lastSeenAt).to.deep.equal(lastSeenAt);
    await postSignOut(browser);
    expect(await api.deps.redis.ttl(`joypod:authSession:${id}`)).to.be.within(
      (30 * dayMs) / 1000 - 60,
      (30 * dayMs) / 1000,
    );
  });

  it("are renewed with every response, including errors", async () => {
    const browser = await signedIn();
    const { etag } = Object.fromEntries((await browser.get("/api/games")).headers);
    const requests: [string, number, Record<string, string>][] = [
      ["/api/games", 200, {}],
      ["/api/games/unknown-game", 404, {}],
      ["/api/games?page=x", 400, {}],
      ["/api/games", 304, { "if-none-match": etag ?? "" }],
    ];
    for (const [path, status, headers] of requests) {
      const before = browser.cookies.get(cookieName)!;
      await clock.advance(1000);
      const response = await browser.get(path, headers);
      expect(response.status).to.equal(status);
      expect(response.setCookies).to.have.length(1);
      expect(browser.cookies.get(cookieName)).to.not.equal(before);
      expect(response.headers.get("cache-control")).to.match(/private|no-store/);
    }
  });

  it("last for 30 days without use, and indefinitely with use", async () => {
    const browser = await signedIn();
    const idle = browser.cookies.get(cookieName)!;
    await clock.advance(29 * dayMs);
    expect((await browser.get("/api/games")).status).to.equal(200);
    await clock.advance(29 * dayMs);
    expect((await browser.get("/api/games")).status).to.equal(200);
    expectErrorResponse(await browserWith(idle).get("/api/games"), 401, "unauthorized");
    await clock.advance(31 * dayMs);
    expectErrorResponse(await browser.get("/api/games"), 401, "unauthorized");
    expect(browser.cookies.has(cookieName)).to.be.false;
  });

  it("end for good with the sign-out: for every cookie, after a flush of Redis, and after a restart of the API", async () => {
    const browser = await signedIn();
    const issued = [browser.cookies.get(cookieName)!];
    await clock.advance(2000);
    await browser.get("/api/games");
    issued.push(browser.cookies.get(cookieName)!);
    const out = await postSignOut(browser, { json: "true", callbackUrl: "https://evil.test/" });
    expect(out.json()).to.deep.equal({ url: `${api.url}/` });
    expect(out.setCookies).to.deep.equal([`${cookieName}=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0`]);
    for (const token of issued)
      expectErrorResponse(await browserWith(token).get("/api/games"), 401, "unauthorized");
    const restarted = await TestApi.start({
      clock,
      database,
      redisUrl: redis.url,
      env: { SIGNING_KEYS: `one:${key(1)}` },
    });
    try {
      expectErrorResponse(await browserWith(issued[0]!, restarted).get("/api/games"), 401, "unauthorized");
      await restarted.deps.redis.flushall();
      expectErrorResponse(await browserWith(issued[0]!, restarted).get("/api/games"), 401, "unauthorized");
      expect((await browserWith(issued[0]!, restarted).get("/api/auth/session")).json()).to.deep.equal({});
    } finally {
      await restarted.stop();
    }
  });

  it("let a browser without a session sign out, also with a redirect", async () => {
    const response = await postSignOut(api.anonymous(), { callbackUrl: "/bye" });
    expect(response.status).to.equal(302);
    expect(response.headers.get("location")).to.equal(`${api.url}/bye`);
    expectErrorResponse(
      await api.anonymous().post("/api/auth/signout", new URLSearchParams({ json: "true" })),
      403,
      "csrf",
    );
  });

  it("can all be ended at once for a user", async () => {
    const [one, two] = [await signedIn(), await signedIn()];
    await one.get("/api/games");
    await two.get("/api/games");
    await api.deps.authSessions.revokeAllOf(user.id);
    for (const browser of [one, two])
      expectErrorResponse(await browser.get("/api/games"), 401, "unauthorized");
  });

  it("are read from the database while Redis is down, and stay revoked", async () => {
    const [kept, ended] = [await signedIn(), await signedIn()];
    await kept.get("/api/games");
    await ended.get("/api/games");
    const token = ended.cookies.get(cookieName)!;
    await redis.server.stop();
    try {
      expect((await kept.get("/api/games")).status).to.equal(200);
      await postSignOut(ended);
      expectErrorResponse(await browserWith(token).get("/api/games"), 401, "unauthorized");
    } finally {
      await redis.server.start();
    }
    expectErrorResponse(await browserWith(token).get("/api/games"), 401, "unauthorized");
  });

  it("stay ended when Redis was frozen during the sign-out", async () => {
    const browser = await signedIn();
    await browser.get("/api/games");
    const token = browser.cookies.get(cookieName)!;
    redis.server.signal("SIGSTOP");
    try {
      await postSignOut(browser);
    } finally {
      redis.server.signal("SIGCONT");
    }
    expectErrorResponse(await browserWith(token).get("/api/games"), 401, "unauthorized");
  });

  it("stay ended while the database hangs, on every replica, once one of them has learned of an end that Redis missed", async () => {
    const options = {
      database,
      redisUrl: redis.url,
      env: { SIGNING_KEYS: `one:${key(1)}`, DATABASE_TIMEOUT_MS: "3000" },
    };
    const replicas = [await TestApi.start(options), await TestApi.start(options)] as const;
    const [first] = replicas;
    try {
      const browser = first.anonymous();
      const player = await aUser(first.deps);
      expect((await postSignIn(browser, player)).status).to.equal(200);
      const token = browser.cookies.get(cookieName)!;
      for (const replica of replicas)
        expect((await browserWith(token, replica).get("/api/games")).status).to.equal(200);
      const [id = ""] = await updateAuthSessionsRevoked(first.deps.postgres.pool, player.id);
      // The minute is over in which the database is not asked.
      await first.deps.redis.expire(authSessionCacheKey(id), 3000);
      expectErrorResponse(await browserWith(token, first).get("/api/games"), 401, "unauthorized");
      const thaw = freezeDatabase(database);
      try {
        for (const replica of replicas)
          expectErrorResponse(await browserWith(token, replica).get("/api/games"), 401, "unauthorized");
      } finally {
        thaw();
      }
    } finally {
      for (const replica of replicas) await replica.stop();
    }
  });

  it("end after an absolute lifetime if one is configured, however often they are used", async () => {
    const days = 180;
    const capped = await TestApi.start({
      clock,
      database,
      redisUrl: redis.url,
      env: { SIGNING_KEYS: `one:${key(1)}`, SESSION_MAX_SECONDS: String(days * 86_400) },
    });
    try {
      const browser = capped.anonymous();
      await postSignIn(browser, user);
      const endsAt = clock.now().getTime() + days * dayMs;
      for (let day = 29; day < days; day += 29) {
        await clock.advance(29 * dayMs);
        const response = await browser.get("/api/auth/session");
        const { expires } = response.json<{ expires: string }>();
        expect(Date.parse(expires)).to.be.at.most(endsAt);
        expect(response.setCookies[0]).to.contain(`Expires=${new Date(expires).toUTCString()}`);
      }
      const kept = browser.cookies.get(cookieName)!;
      await clock.advance(endsAt - clock.now().getTime() - 1000);
      expect((await browser.get("/api/games")).status).to.equal(200);
      await clock.advance(60_000);
      expectErrorResponse(await browserWith(kept, capped).get("/api/games"), 401, "unauthorized");
      expectErrorResponse(await browser.get("/api/games"), 401, "unauthorized");
    } finally {
      await capped.stop();
    }
  });

  it("are deleted when all their cookies have expired, whether or not they have ended", async () => {
    const { prisma } = api.deps.postgres;
    const forgetful = await aUser(api.deps);
    const lifetimeMs = api.deps.config.auth.tokenLifetimeSeconds * 1000;
    const stored = (id: string, agoMs: number, revokedAt: Date | null = null) => ({
      id: `${id} ${forgetful.id}`,
      userId: forgetful.id,
      lastSeenAt: new Date(Date.now() - agoMs),
      revokedAt,
    });
    await prisma.authSession.createMany({
      data: [
        stored("old", lifetimeMs + 8 * dayMs),
        stored("old and ended", lifetimeMs + 8 * dayMs, new Date()),
        stored("late", lifetimeMs + 6 * dayMs),
        stored("used", 0),
      ],
    });
    await sweepAuthSessions(api.deps);
    const rows = await prisma.authSession.findMany({
      where: { userId: forgetful.id },
      orderBy: { id: "asc" },
    });
    expect(rows.map(({ id }) => id.split(" ")[0])).to.deep.equal(["late", "used"]);
  });

  it("are renewed with the first key, and refused with a removed one", async () => {
    const token = (await signedIn()).cookies.get(cookieName)!;
    const rotated = await TestApi.start({
      clock,
      database,
      redisUrl: redis.url,
      env: { SIGNING_KEYS: `two:${key(2)},one:${key(1)}` },
    });
    try {
      const browser = browserWith(token, rotated);
      expect((await browser.get("/api/games")).status).to.equal(200);
      const renewed = browser.cookies.get(cookieName)!;
      expect(kidOf(renewed)).to.equal("two");
      expectErrorResponse(await browserWith(renewed).get("/api/games"), 401, "unauthorized");
      const drained = await TestApi.start({
        clock,
        database,
        redisUrl: redis.url,
        env: { SIGNING_KEYS: `two:${key(2)}` },
      });
      try {
        expectErrorResponse(await browserWith(token, drained).get("/api/games"), 401, "unauthorized");
        expect((await browserWith(renewed, drained).get("/api/games")).status).to.equal(200);
      } finally {
        await drained.stop();
      }
    } finally {
      await rotated.stop();
    }
  });

  it("continue, like forms, across replicas while some sign with a new key that all know", async () => {
    const startWith = (keys: string): Promise<TestApi> =>
      TestApi.start({ clock, database, redisUrl: redis.url, env: { SIGNING_KEYS: keys } });
    const before = await startWith(`one:${key(1)},two:${key(2)}`);
    const after = await startWith(`two:${key(2)},one:${key(1)}`);
    try {
      let browser = await signedIn();
      const goTo = (replica: TestApi): void => {
        const { cookies } = browser;
        browser = replica.anonymous();
        for (const [name, value] of cookies) browser.cookies.set(name, value);
      };
      for (const [replica, kid] of [
        [before, "one"],
        [after, "two"],
        [before, "one"],
        [after, "two"],
      ] as const) {
        await clock.advance(1000);
        goTo(replica);
        expect((await browser.get("/api/games")).status).to.equal(200);
        expect(kidOf(browser.cookies.get(cookieName)!)).to.equal(kid);
      }
      browser.cookies.delete("auth.csrf-token");
      const form = new URLSearchParams({ csrfToken: await csrfToken(browser), json: "true" });
      goTo(before);
      expect((await browser.post("/api/auth/signout", form)).status).to.equal(200);
    } finally {
      await before.stop();
      await after.stop();
    }
  });

  it("use the cookie names and attributes of production over https", async () => {
    const secure = await TestApi.start({
      database,
      redisUrl: redis.url,
      env: { BASE_URL: "https://play.test" },
    });
    try {
      const browser = secure.anonymous();
      const response = await postSignIn(browser, user, { json: "true", callbackUrl: "/x" });
      expect(response.json()).to.deep.equal({ url: "https://play.test/x" });
      expect(response.setCookies[0]).to.match(
        /^__Secure-auth\.session-token=[^;]+; Path=\/; HttpOnly; SameSite=Lax; Secure; Expires=/,
      );
      expect((await secure.anonymous().get("/api/auth/csrf")).setCookies[0]).to.match(
        /^__Host-auth\.csrf-token=[0-9a-f]{64}\|[0-9a-f]{64}; Path=\/; HttpOnly; SameSite=Lax; Secure$/,
      );
      expect(response.headers.get("strict-transport-security")).to.equal(
        "max-age=31536000; includeSubDomains",
      );
      expect((await browser.get("/api/games")).status).to.equal(200);
    } finally {
      await secure.stop();
    }
  });

  it("store a new hash of the password when its cost has changed", async () => {
    const costlier = await TestApi.start({ database, redisUrl: redis.url, env: { BCRYPT_COST: "5" } });
    try {
      expect((await postSignIn(costlier.anonymous(), user)).status).to.equal(200);
      const { passwordHash } = await costlier.deps.postgres.prisma.user.findUniqueOrThrow({
        where: { id: user.id },
      });
      expect(passwordHash).to.match(/^\$2b\$05\$/);
      expect((await postSignIn(costlier.anonymous(), user)).status).to.equal(200);
    } finally {
      await costlier.stop();
    }
  });
});

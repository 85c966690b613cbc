import { expect } from "chai";
import { aUser, type TestUser } from "#test/factories/catalog.ts";
import { TestApi } from "#test/support/http/api.ts";
import { expectErrorResponse, type ApiClient } from "#test/support/http/apiClient.ts";
import { postSignIn, postSignOut } from "#test/support/http/authForms.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { startRedis, type TestRedis } from "#test/support/stores/redis.ts";
import { TcpRelay } from "#test/support/stores/tcpRelay.ts";
import { sendTraffic } from "#test/support/http/traffic.ts";

const cookieName = "auth.session-token";
const limit = 30;

interface Fault {
  begin: (redis: TestRedis, relay: TcpRelay) => unknown;
  end: (redis: TestRedis, relay: TcpRelay) => unknown;
}

const faults: Record<string, Fault> = {
  "is killed": { begin: ({ server }) => server.stop(), end: ({ server }) => server.start() },
  hangs: { begin: ({ server }) => server.signal("SIGSTOP"), end: ({ server }) => server.signal("SIGCONT") },
  "answers too late": {
    begin: (_, relay) => (relay.delayMs = 3_000),
    end: (_, relay) => (relay.delayMs = 0),
  },
};

describe("when Redis", function () {
  this.timeout(60_000);
  let redis: TestRedis;
  let relay: TcpRelay;
  let api: TestApi;
  let locked: TestUser;
  let player: ApiClient;
  let revoked: ApiClient;

  before(async () => {
    redis = await startRedis();
    relay = await TcpRelay.start(redis.url);
  });
  after(async () => {
    await relay.stop();
    await redis.server.stop();
  });
  // An API of its own for each: it starts without any count in its memory.
  beforeEach(async () => {
    api = await TestApi.start({
      redisUrl: `redis://${relay.host}`,
      env: { REDIS_TIMEOUT_MS: "200", CATALOG_REQUESTS_PER_MINUTE: String(limit) },
    });
    await api.deps.redis.flushall();
    locked = await aUser(api.deps);
    for (let attempt = 0; attempt < 5; attempt += 1)
      await postSignIn(api.anonymous(), { ...locked, password: "wrong" });
    player = api.as(await aUser(api.deps));
    revoked = await signedOut();
  });
  afterEach(() => api.stop());

  /** A browser that kept its cookie over the sign-out. */
  async function signedOut(): Promise<ApiClient> {
    const browser = api.as(await aUser(api.deps));
    expect((await browser.get("/api/games")).status).to.equal(200);
    const token = browser.cookies.get(cookieName) ?? "";
    await postSignOut(browser);
    const thief = api.anonymous();
    thief.cookies.set(cookieName, token);
    return thief;
  }

  async function expectSafe(): Promise<void> {
    const token = revoked.cookies.get(cookieName) ?? "";
    expectErrorResponse(await revoked.get("/api/games"), 401, "unauthorized");
    revoked.cookies.set(cookieName, token);
    expectErrorResponse(await postSignIn(api.anonymous(), locked), 429, "locked");
    const other = await aUser(api.deps);
    expect((await postSignIn(api.anonymous(), other)).status).to.equal(200);
    expectErrorResponse(
      await postSignIn(api.anonymous(), { ...other, password: "wrong" }),
      401,
      "invalid_credentials",
    );
  }

  for (const [what, { begin, end }] of Object.entries(faults)) {
    it(`${what}: limits, locks and sign-outs still apply, and nothing fails`, async () => {
      expect((await player.get("/api/games")).status).to.equal(200);
      await begin(redis, relay);
      try {
        const { statuses, responses } = await sendTraffic(250, () => player.get("/api/games"));
        expect(Object.keys(statuses), JSON.stringify(statuses)).to.deep.equal(["200", "429"]);
        expect(statuses[200]).to.be.within(1, limit);
        for (const { status, headers } of responses) {
          expect(headers.get("ratelimit-policy")).to.equal(`"catalog";q=${limit};w=60`);
          if (status === 429) expect(Number(headers.get("retry-after"))).to.be.within(1, 60);
        }
        await expectSafe();
      } finally {
        await end(redis, relay);
      }
      await eventually(async () => Boolean(await api.deps.redis.ping()), { what: "Redis to be back" });
      await expectSafe();
      expect((await api.as(await aUser(api.deps)).get("/api/games")).status).to.equal(200);
      expect(api.logLines.filter((line) => line.includes('"level":"error"'))).to.be.empty;
    });
  }

  it("is flushed: locks and sign-outs still apply, and limits start over", async () => {
    await sendTraffic(limit + 5, () => player.get("/api/games"));
    expectErrorResponse(await player.get("/api/games"), 429, "rate_limited");
    await api.deps.redis.flushall();
    const { statuses } = await sendTraffic(limit + 5, () => player.get("/api/games"));
    expect(statuses).to.deep.equal({ 200: limit, 429: 5 });
    await expectSafe();
  });
});

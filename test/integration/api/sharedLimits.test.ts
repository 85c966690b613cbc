import { expect } from "chai";
import { randomBytes } from "node:crypto";
import { sweepIdle } from "#api/gameSessions/sessions/stopIdleSessions.ts";
import { policiesOf, RateLimits, type RateLimitOutcome } from "#api/http/rateLimits.ts";
import { aGame, aGameSessionRow, aUser, type TestGame, type TestUser } from "#test/factories/catalog.ts";
import { TestApi } from "#test/support/http/api.ts";
import { expectErrorResponse } from "#test/support/http/apiClient.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { asIfSwept } from "#test/support/fixtures/idleSweeps.ts";
import { RawClient } from "#test/support/http/rawHttp.ts";
import { redisDatabases, sharedRedis } from "#test/support/stores/redis.ts";
import { sendTraffic } from "#test/support/http/traffic.ts";

describe("limits shared by clients", function () {
  this.timeout(60_000);

  describe("limits", () => {
    let one: TestApi;
    let two: TestApi;

    before(async () => {
      // A number that no other API of the run is given.
      const redisUrl = `${(await sharedRedis()).url}/${redisDatabases - 1}`;
      one = await TestApi.start({ redisUrl, env: { TRUSTED_PROXIES: "1" } });
      two = await TestApi.start({ redisUrl, database: one.database, env: { TRUSTED_PROXIES: "0" } });
      await one.deps.redis.flushdb();
    });
    after(async () => {
      await two.stop();
      await one.stop();
    });

    it("count by the address that the trusted proxy saw, whatever the client's headers say", async () => {
      const spoof = (index: number): Record<string, string> => ({
        "x-forwarded-for": `10.0.${index}.1, 192.0.2.7`,
      });
      const behind = await sendTraffic(125, (index) =>
        one.anonymous().get("/api/auth/providers", spoof(index)),
      );
      expect(behind.statuses).to.deep.equal({ 200: 120, 429: 5 });
      const other = await one
        .anonymous()
        .get("/api/auth/providers", { "x-forwarded-for": "192.0.2.7, 192.0.2.8" });
      expect(other.status).to.equal(200);
      const direct = await sendTraffic(125, (index) =>
        two.anonymous().get("/api/auth/providers", spoof(index)),
      );
      expect(direct.statuses).to.deep.equal({ 200: 120, 429: 5 });
    });

    it("end with their window, however often a refused client retries", async () => {
      const key = randomBytes(8).toString("hex");
      const outcomes = [];
      for (let request = 0; request < 40; request += 1)
        outcomes.push(await one.deps.rateLimits.consume("stop", key));
      expect(outcomes.filter(({ isAllowed }) => isAllowed)).to.have.lengthOf(30);
      const resets = outcomes.map(({ resetSeconds }) => resetSeconds);
      expect(resets).to.deep.equal(resets.toSorted((a, b) => b - a));
      expect(resets.at(-1)).to.be.below(resets[0] ?? 0);
      await one.deps.redis.pexpire(`joypod:limit:stop:${key}`, 1);
      await eventually(async () => (await one.deps.rateLimits.consume("stop", key)).isAllowed, {
        what: "the next window",
      });
    });

    it("allow requests again after a refund, however many were refused in the meantime", async () => {
      const disconnected = one.deps.redis.duplicate({ lazyConnect: true });
      disconnected.disconnect();
      const { points } = policiesOf(one.deps.config).unknownKeys;
      for (const rateLimits of [one.deps.rateLimits, new RateLimits(disconnected, one.deps.config)]) {
        const key = randomBytes(8).toString("hex");
        const consume = (): Promise<RateLimitOutcome> => rateLimits.consume("unknownKeys", key);
        const burst = await Promise.all(Array.from({ length: points + 5 }, consume));
        expect(burst.filter(({ isAllowed }) => isAllowed)).to.have.lengthOf(points);
        await Promise.all(Array.from({ length: points }, () => rateLimits.refund("unknownKeys", key)));
        await rateLimits.refund("unknownKeys", key);
        expect((await consume()).remaining).to.equal(points - 1);
      }
    });

    it("start with a request, not with a refund", async () => {
      const key = randomBytes(8).toString("hex");
      await one.deps.rateLimits.refund("unknownKeys", key);
      expect(await one.deps.redis.exists(`joypod:limit:unknownKeys:${key}`)).to.equal(0);
    });

    it("need one Redis command, together with the sign-in", async () => {
      const player = one.as(await aUser(one.deps));
      await player.get("/api/game/sessions");
      const monitor = await one.deps.redis.monitor();
      const commands: string[] = [];
      // What a script runs inside Redis is no round trip; other databases are other tests'.
      monitor.on("monitor", (_time: string, [name = ""]: string[], source: string, database: string) => {
        if (source !== "lua" && database === String(redisDatabases - 1) && name.toLowerCase() !== "ping")
          commands.push(name.toLowerCase());
      });
      for (let count = 0; count < 5; count += 1)
        expect((await player.get("/api/game/sessions")).status).to.equal(200);
      await one.deps.redis.echo("the end"); // The monitor tells of it after all that came before.
      await eventually(() => commands.includes("echo"), { what: "the last command" });
      monitor.disconnect();
      expect(commands).to.deep.equal([...Array<string>(5).fill("evalsha"), "echo"]);
    });
  });

  it("an idle session is either kept alive or reclaimed when both are requested at once", async () => {
    const api = await TestApi.start();
    try {
      const game = await aGame(api.deps);
      // The idle time begins when a session runs: one that has yet to start is never swept.
      const starting = await anExpiredSession(api, game, "starting");
      for (let round = 0; round < 12; round += 1) {
        const { id, user } = await anExpiredSession(api, game, "running");
        const player = api.as(user);
        await player.get("/api/game/sessions");
        await asIfSwept(api.deps);
        const [kept, swept] = await Promise.all([
          player.post("/api/game/keepalive", { sessionId: id }),
          sweepIdle(api.deps),
        ]);
        const isKept = kept.status === 200;
        if (!isKept) expectErrorResponse(kept, 404, "not_found");
        expect(swept.includes(id)).to.equal(!isKept);
        expect(swept).to.not.include(starting.id);
        const { status } = await api.deps.postgres.prisma.gameSession.findUniqueOrThrow({ where: { id } });
        expect(status).to.equal(isKept ? "running" : "stopping");
      }
    } finally {
      await api.stop();
    }
  });

  it("connections are limited, and a closed one is free immediately", async () => {
    const api = await TestApi.start({ env: { MAX_CONNECTIONS: "3" } });
    try {
      const held = await Promise.all([1, 2, 3].map(() => RawClient.connect(api.url)));
      for (const client of held) client.write("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
      await eventually(() => held.every(({ received }) => received.includes("200 OK")), {
        what: "three responses",
      });
      const fourth = await RawClient.connect(api.url);
      fourth.write("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
      expect(await fourth.untilClosed()).to.equal("");
      held[0]?.destroy();
      await eventually(
        async () => {
          const next = await RawClient.connect(api.url);
          next.write("GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
          return (await next.untilClosed()).includes("200 OK");
        },
        { what: "the free place" },
      );
      for (const client of held) client.destroy();
    } finally {
      await api.stop();
    }
  });

  it("a stopping process answers open requests, closes idle connections and accepts nothing new", async () => {
    const api = await TestApi.start();
    const player = api.as(await aUser(api.deps));
    await player.get("/api/game/sessions");
    const cookie = `Cookie: auth.session-token=${player.cookies.get("auth.session-token")}\r\n`;
    const idle = await RawClient.connect(api.url);
    idle.write("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
    const busy = await RawClient.connect(api.url);
    busy.write(
      `POST /api/favorites HTTP/1.1\r\nHost: x\r\n${cookie}Content-Type: application/json\r\nContent-Length: 17\r\nExpect: 100-continue\r\n\r\n`,
    );
    await eventually(() => idle.received.includes("200 OK") && busy.received.includes("100 Continue"), {
      what: "both connections",
    });
    const stopped = api.stop();
    expect(await idle.untilClosed()).to.include("200 OK");
    await expectRefused(api.url);
    busy.write('{"gameId":"none"}');
    expect(await busy.untilClosed()).to.match(/HTTP\/1\.1 404 [^]*Connection: close[^]*"not_found"/i);
    await stopped;
  });
});

async function expectRefused(url: string): Promise<void> {
  const error: unknown = await RawClient.connect(url).then(
    () => undefined,
    (failure: unknown) => failure,
  );
  expect(error).to.have.property("code", "ECONNREFUSED");
}

async function anExpiredSession(
  api: TestApi,
  game: TestGame,
  status: "starting" | "running",
): Promise<{ id: string; user: TestUser }> {
  const user = await aUser(api.deps);
  const { id } = await aGameSessionRow(
    api.deps,
    { user, game },
    { status, readyAt: status === "running" ? new Date() : null, expiresAt: new Date(Date.now() - 10) },
  );
  return { id, user };
}

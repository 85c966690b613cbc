import { expect } from "chai";
import { readFileSync, writeFileSync } from "node:fs";
import { limits } from "#contracts/limits.ts";
import { leases } from "#kube/api/builtin.ts";
import { ResourceClient } from "#kube/client/resourceClient.ts";
import { aGame, aPartner, aUser, type TestGame, type TestUser } from "#test/factories/catalog.ts";
import { TestApi } from "#test/support/http/api.ts";
import { expectErrorResponse, type ApiClient, type ApiResponse } from "#test/support/http/apiClient.ts";
import { ApiProcess } from "#test/support/http/apiProcess.ts";
import { postSignIn, postSignOut } from "#test/support/http/authForms.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { operatorOf, type FakeOperator } from "#test/support/cluster/fakeOperator.ts";
import { startRedis, type TestRedis } from "#test/support/stores/redis.ts";
import { TcpRelay } from "#test/support/stores/tcpRelay.ts";
import { KeptConnection } from "#test/support/http/keptConnection.ts";
import { ServiceTraffic } from "#test/support/http/serviceTraffic.ts";
import { sendTraffic } from "#test/support/http/traffic.ts";
import { freePort } from "#test/support/processes/childProgram.ts";

const cookieName = "auth.session-token";

/** More than the database connections of a process, but so few that none waits for one in vain: 3 s. */
const parallel = 50;

describe("two processes of the API", function () {
  this.timeout(60_000);
  let redis: TestRedis;
  let api: TestApi;
  let operator: FakeOperator;
  let one: ApiProcess;
  let two: ApiProcess;
  /** Between the first and the cluster. */
  let relay: TcpRelay;

  before(async () => {
    redis = await startRedis();
    api = await TestApi.start({ kube: true, redisUrl: redis.url, env: { BCRYPT_COST: "4" } });
    operator = operatorOf(api);
    await operator.addNode(100);
    const env = { CATALOG_REQUESTS_PER_MINUTE: "100", PARTNER_REQUESTS_PER_MINUTE: "100" };
    const kubeconfig = api.deps.config.cluster.kubeconfig ?? "";
    const {
      clusters: [
        {
          cluster: { server },
        },
      ],
    } = JSON.parse(readFileSync(kubeconfig, "utf8")) as { clusters: [{ cluster: { server: string } }] };
    relay = await TcpRelay.start(server);
    writeFileSync(
      `${kubeconfig}.relay`,
      readFileSync(kubeconfig, "utf8").replaceAll(server, `https://${relay.host}`),
    );
    [one, two] = await Promise.all([
      ApiProcess.beside(api, { ...env, KUBECONFIG: `${kubeconfig}.relay` }),
      ApiProcess.beside(api, env),
    ]);
  });
  after(async () => {
    await Promise.all([one.stop(), two.stop()]);
    await relay.stop();
    await operator.removeNodes();
    await api.stop();
    await redis.server.stop();
  });

  /** The same browser at the other process. */
  function elsewhere(browser: ApiClient, at: ApiProcess): ApiClient {
    return browserWith(browser.cookies.get(cookieName) ?? "", at);
  }

  function browserWith(token: string, at: ApiProcess): ApiClient {
    const browser = api.anonymous(at);
    browser.cookies.set(cookieName, token);
    return browser;
  }

  it("refuse nobody while one is shutting down, however late clients notice", async () => {
    const metricsPort = await freePort();
    const leaving = await ApiProcess.beside(api, {
      METRICS_PORT: String(metricsPort),
      SHUTDOWN_DELAY_SECONDS: "3",
    });
    const service = new ServiceTraffic({
      url: leaving.url,
      readyUrl: `http://127.0.0.1:${metricsPort}/readyz`,
      knownAfterMs: 1_500,
    });
    await eventually(() => service.served > 50, { what: "requests to be served" });
    const before = service.served;
    await leaving.stop("SIGTERM");
    await service.stop();
    expect(service.failures).to.be.empty;
    expect(service.served, "until it is known everywhere").to.be.above(before);
    expect(service.closing, "responses that send the connection away").to.be.above(0);
  });

  it("accept no request on a kept-alive connection after every proxy knows of the shutdown", async () => {
    const leaving = await ApiProcess.beside(api, { SHUTDOWN_DELAY_SECONDS: "1" });
    const client = new KeptConnection(`${leaving.url}/healthz`);
    expect(await client.ask()).to.deep.equal({ status: 200, isLast: false });
    const ended = leaving.stop("SIGTERM");
    await client.pause(1_500);
    expect(await client.ask()).to.deep.equal({ status: 200, isLast: true });
    await ended;
  });

  it("do not wait for the end of a process that is shutting down: it gives up leadership while it still serves", async () => {
    const { server } = api.kube ?? {};
    if (server === undefined) throw new Error("The API was started without a cluster.");
    const namespace = await server.createNamespace("release");
    const lease = new ResourceClient(server.admin, leases);
    const holder = async (): Promise<string | undefined> =>
      (await lease.find({ namespace, name: "joypod-api" }))?.spec?.holderIdentity;
    const env = {
      KUBECONFIG: server.kubeconfigPath,
      POD_NAMESPACE: namespace,
      POD_NAME: "leaving",
      SHUTDOWN_DELAY_SECONDS: "3",
    };
    const leaving = await ApiProcess.beside(api, env);
    await eventually(async () => (await holder()) === "leaving", { what: "the process to lead" });
    const ended = leaving.stop("SIGTERM");
    await eventually(async () => (await holder()) === "", { what: "the lease to be given up" });
    expect((await fetch(`${leaving.url}/healthz`)).status).to.equal(200);
    await ended;
  });

  describe("share", () => {
    it("a player's limit: exactly a hundred of five hundred requests succeed, many at a time", async () => {
      const player = api.as(await aUser(api.deps), one);
      await player.get("/api/game/sessions");
      const clients = [player, elsewhere(player, two)] as const;
      const { statuses, responses } = await sendTraffic(
        500,
        (index) => clients[index % 2 === 0 ? 0 : 1].get("/api/games"),
        parallel,
      );
      expect(statuses).to.deep.equal({ 200: 100, 429: 400 });
      expectHonestWaits(responses);
    });

    it("the limit of a partner's key", async () => {
      const { key } = await aPartner(api.deps);
      const clients = [api.asPartner({ key }, one), api.asPartner({ key }, two)] as const;
      const { statuses, responses } = await sendTraffic(
        500,
        (index) => clients[index % 2 === 0 ? 0 : 1].get("/api/partners/games"),
        parallel,
      );
      expect(statuses).to.deep.equal({ 200: 100, 429: 400 });
      expectHonestWaits(responses);
    });

    it("the lock of an e-mail address", async () => {
      const user = await aUser(api.deps);
      for (const at of [one, two, one, two, one])
        expectErrorResponse(
          await postSignIn(api.anonymous(at), { ...user, password: "wrong" }),
          401,
          "invalid_credentials",
        );
      for (const at of [one, two])
        expectErrorResponse(await postSignIn(api.anonymous(at), user), 429, "locked");
    });

    it("a sign-out, immediately", async () => {
      const browser = api.anonymous(one);
      await postSignIn(browser, await aUser(api.deps));
      const there = elsewhere(browser, two);
      expect((await there.get("/api/games")).status).to.equal(200);
      const tokens = [browser, there].map(({ cookies }) => cookies.get(cookieName) ?? "");
      expect((await postSignOut(browser)).status).to.equal(200);
      for (const token of tokens)
        expectErrorResponse(await browserWith(token, two).get("/api/games"), 401, "unauthorized");
    });
  });

  it("keep a sign-out after a flush of Redis and the end of the process that handled it", async () => {
    const user = await aUser(api.deps);
    const [ended, kept] = [api.anonymous(one), api.anonymous(one)];
    await postSignIn(ended, user);
    await postSignIn(kept, user);
    const tokens = [ended.cookies.get(cookieName) ?? ""];
    await nextSecond();
    await ended.get("/api/games");
    tokens.push(ended.cookies.get(cookieName) ?? "");
    expect(tokens[0]).to.not.equal(tokens[1]);
    await postSignOut(ended);
    await one.stop();
    await api.deps.redis.flushall();
    await one.start();
    for (const at of [one, two]) {
      for (const token of tokens)
        expectErrorResponse(await browserWith(token, at).get("/api/games"), 401, "unauthorized");
      expect((await elsewhere(kept, at).get("/api/games")).status).to.equal(200);
    }
  });

  describe("launch once under one Idempotency-Key", () => {
    let game: TestGame;
    let user: TestUser;

    before(async () => {
      game = await aGame(api.deps);
    });
    beforeEach(async () => {
      user = await aUser(api.deps);
      await eventually(
        async () =>
          (await api.as(await aUser(api.deps), one).post("/api/game/launch", { gameSlug: game.slug }))
            .status === 202,
        { what: "the nodes" },
      );
    });

    function launch(at: ApiProcess): Promise<ApiResponse> {
      return api
        .as(user, at)
        .post("/api/game/launch", { gameSlug: game.slug }, { "idempotency-key": "a-launch" });
    }

    function stored(): Promise<{ id: string }[]> {
      return api.deps.postgres.prisma.gameSession.findMany({ where: { userId: user.id } });
    }

    /** Names of the user's objects in the cluster. */
    async function objects(): Promise<string[]> {
      const { items } = await operator.sessions.list({ namespace: api.kube?.sessionsNamespace ?? "" });
      return items.filter(({ spec }) => spec.userId === user.id).map(({ metadata }) => metadata.name);
    }

    async function expectOneLaunch(first: ApiResponse): Promise<void> {
      const again = await launch(two);
      expect(again.headers.get("idempotency-replayed")).to.equal("true");
      expect(again.json()).to.deep.equal(first.json());
      const { sessionId } = first.json<{ sessionId: string }>();
      expect((await stored()).map(({ id }) => id)).to.deep.equal([sessionId]);
      await eventually(async () => expect(await objects()).to.deep.equal([sessionId]).and.to.be.ok);
    }

    it("even if one is killed before the launch is stored: a later retry launches", async () => {
      const { pool } = api.deps.postgres;
      const lock = await pool.connect();
      try {
        await lock.query("BEGIN");
        await lock.query("LOCK TABLE game_sessions IN EXCLUSIVE MODE");
        const lost = launch(one).then(
          ({ text }) => text,
          () => "lost",
        );
        const waiting =
          "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%INSERT INTO game_sessions%'";
        await eventually(async () => (await pool.query(waiting)).rowCount === 1, {
          what: "the launch to wait",
        });
        await one.stop();
        expect(await lost).to.equal("lost");
      } finally {
        await lock.query("COMMIT");
        lock.release();
      }
      await one.start();
      const early = await launch(one);
      expectErrorResponse(early, 409, "conflict");
      expect(early.headers.get("retry-after")).to.equal("1");
      expect(await stored()).to.be.empty;
      await pool.query(
        "UPDATE idempotency_keys SET leased_until = leased_until - make_interval(secs => $2) WHERE principal = $1",
        [`user:${user.id}`, limits.idempotency.leaseSeconds],
      );
      const late = await eventually(
        async () => {
          const response = await launch(one);
          return response.status === 503 ? undefined : response;
        },
        { what: "the nodes to be seen" },
      );
      expect(late.status, late.text).to.equal(202);
      await expectOneLaunch(late);
    });

    it("even if one is killed before the object is created: a retry returns the same response", async () => {
      relay.delayMs = 5_000;
      const lost = launch(one).then(
        ({ text }) => text,
        () => "lost",
      );
      await eventually(async () => (await stored()).length === 1);
      await one.stop();
      relay.delayMs = 0;
      expect(await lost).to.equal("lost");
      expect(await objects()).to.be.empty;
      await one.start();
      const again = await launch(one);
      expect(again.status, again.text).to.equal(202);
      expect(again.headers.get("idempotency-replayed")).to.equal("true");
      // So old that whoever leads creates what the dead one did not.
      await api.deps.postgres.pool.query(
        "UPDATE game_sessions SET started_at = started_at - interval '5 seconds' WHERE user_id = $1",
        [user.id],
      );
      await expectOneLaunch(again);
    });
  });

  it("either launch a game or delete it when both are requested at once, and remove its files after the session", async () => {
    const { prisma } = api.deps.postgres;
    const partner = await aPartner(api.deps);
    const game = await aGame(api.deps, { partnerId: partner.id });
    await prisma.game.update({ where: { id: game.id }, data: { cacheRevision: { increment: 1 } } });
    await eventually(() => operator.cache(game.slug), { what: "the game's cache" });
    const players: ApiClient[] = [];
    while (players.length < 50)
      players.push(api.as(await aUser(api.deps), players.length % 2 === 0 ? one : two));
    await Promise.all(players.map((player) => player.get("/api/game/sessions")));
    const launches = Promise.all(
      players.map((player) => player.post("/api/game/launch", { gameSlug: game.slug })),
    );
    await eventually(async () => (await prisma.gameSession.count({ where: { gameId: game.id } })) > 0, {
      intervalMs: 1,
    });
    expect((await api.asPartner(partner, two).delete(`/api/partners/games/${game.slug}`)).status).to.equal(
      204,
    );
    expectErrorResponse(
      await api.as(await aUser(api.deps), one).post("/api/game/launch", { gameSlug: game.slug }),
      404,
      "not_found",
    );
    const responses = await launches;
    for (const refused of responses.filter(({ status }) => status !== 202))
      expectErrorResponse(refused, 404, "not_found");
    const launched = responses
      .filter(({ status }) => status === 202)
      .map((response) => response.json<{ sessionId: string }>().sessionId);
    const rows = await prisma.gameSession.findMany({ where: { gameId: game.id } });
    expect(rows.map(({ id }) => id)).to.have.members(launched);
    expect(await prisma.saveSlot.count({ where: { gameId: game.id } })).to.equal(launched.length);
    for (const { id, status } of rows) {
      expect(status).to.equal("starting");
      expect((await operator.session(id)).spec).to.deep.include({
        contentDigest: game.sha256,
        desiredState: "Running",
      });
    }
    expect(await operator.cache(game.slug)).to.not.equal(undefined);
    await Promise.all(launched.map((id) => operator.finish(id)));
    await eventually(async () => (await operator.cache(game.slug)) === undefined, {
      what: "the cache to go with the last session",
    });
    expect(await prisma.saveSlot.count({ where: { gameId: game.id } })).to.equal(0);
    expect(await prisma.gameSession.count({ where: { gameId: game.id, endedAt: null } })).to.equal(0);
  });
});

/** Those who are refused are told when to come again. */
function expectHonestWaits(responses: readonly ApiResponse[]): void {
  for (const { status, headers } of responses)
    if (status === 429) expect(Number(headers.get("retry-after"))).to.be.within(1, 60);
}

/** Tokens of one second are the same. */
async function nextSecond(): Promise<void> {
  const second = Math.floor(Date.now() / 1000);
  await eventually(() => Math.floor(Date.now() / 1000) > second, { intervalMs: 20 });
}

import { expect } from "chai";
import { syncGameCaches } from "#api/games/syncGameCaches.ts";
import { aGame, aGameSessionRow, aPartner, aUser, type TestUser } from "#test/factories/catalog.ts";
import { FaultyApi } from "#test/support/cluster/faultyApi.ts";
import { sharedKubeApiServer } from "#test/support/cluster/kubeApiServer.ts";
import { LaunchFixture } from "#test/support/fixtures/launchFixture.ts";
import { TestApi } from "#test/support/http/api.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { expectErrorResponse, type ApiClient, type ApiResponse } from "#test/support/http/apiClient.ts";

const id = "gs-0000000000000000000a";

describe("while the Kubernetes API server is unavailable", function () {
  this.timeout(60_000);
  let api: TestApi;
  let user: TestUser;
  let player: ApiClient;

  before(async () => {
    api = await TestApi.start();
    user = await aUser(api.deps);
    player = api.as(user);
    const game = await aGame(api.deps);
    await aGameSessionRow(api.deps, { user, game }, { id, expiresAt: new Date(Date.now() + 60_000) });
  });
  after(() => api.stop());

  it("a running session is shown, kept alive and listed", async () => {
    expect((await player.get(`/api/game/session-status?sessionId=${id}`)).json()).to.include({ status: "running" });
    const { expiresAt } = (await player.post("/api/game/keepalive", { sessionId: id })).json<{ expiresAt: string }>();
    expect(new Date(expiresAt).getTime()).to.be.above(Date.now() + 1_700_000);
    expect((await player.get("/api/game/sessions")).json<{ sessions: unknown[] }>().sessions).to.have.length(1);
  });

  it("a stop is recorded and answered soon, as often as it is repeated", async () => {
    for (let count = 0; count < 2; count++) {
      const startedMs = performance.now();
      const response = await player.post("/api/game/stop", { sessionId: id });
      expect(response.status, response.text).to.equal(202);
      expect(response.json()).to.deep.equal({ status: "stopping" });
      expect(performance.now() - startedMs).to.be.below(5_000);
    }
    const row = await api.deps.postgres.prisma.gameSession.findUniqueOrThrow({ where: { id } });
    expect(row).to.include({ status: "stopping", stopReason: "UserRequested" });
    expectErrorResponse(await player.post("/api/game/keepalive", { sessionId: id }), 404, "not_found");
  });
});

describe("a launch whose object is created, though the response of the Kubernetes API server comes too late,", function () {
  this.timeout(60_000);
  let fixture: LaunchFixture;
  let cluster: FaultyApi;

  before(async () => {
    cluster = await FaultyApi.start(await sharedKubeApiServer());
    fixture = await LaunchFixture.start({ env: { KUBECONFIG: cluster.kubeconfig() }, hasFaults: true });
  });
  after(async () => {
    await fixture.stop();
    await cluster.stop();
  });

  it("goes on, since the recorder has seen the object", async () => {
    await fixture.newPlayer();
    const id = await launchUntold();
    await fixture.makeReady(id);
  });

  it("goes on, since it looks for the object, where nobody has seen that yet", async () => {
    await fixture.newPlayer();
    cluster.loseEvents(true);
    try {
      await launchUntold();
    } finally {
      cluster.loseEvents(false);
      cluster.closeWatches();
    }
  });

  /** Returns the id of a session of whose creation its launch does not hear in time. */
  async function launchUntold(): Promise<string> {
    const held = cluster.holdResponseOnce(({ method, path }) => method === "POST" && path.endsWith("/gamesessions"));
    const launched = fixture.launched();
    await held.carriedOut;
    const id = await launched;
    held.release();
    expect(await fixture.rowOf(id)).to.include({ status: "starting", failureReason: null });
    return id;
  }
});

describe("while the Kubernetes API server is slow to take the change of a GameCache,", function () {
  this.timeout(60_000);
  let api: TestApi;
  let cluster: FaultyApi;

  before(async () => {
    cluster = await FaultyApi.start(await sharedKubeApiServer());
    api = await TestApi.start({ kube: true, isLed: true, env: { KUBECONFIG: cluster.kubeconfig() }, hasFaults: true });
  });
  after(async () => {
    await api.stop();
    await cluster.stop();
  });

  async function aDeletedGame(): Promise<{ slug: string; path: string; client: ApiClient; id: string; deleted: Promise<ApiResponse>; isDeleted: () => boolean; release: () => void }> {
    const partner = await aPartner(api.deps);
    const { id, slug } = await aGame(api.deps, { partnerId: partner.id });
    const [client, path] = [api.asPartner(partner), `/api/partners/games/${slug}`];
    const held = cluster.holdOnce(({ method, path: address }) => method === "DELETE" && address.endsWith(`/gamecaches/${slug}`));
    let isDeleted = false;
    const deleted = client.delete(path).finally(() => isDeleted = true);
    await held.arrived;
    return { slug, path, client, id, deleted, isDeleted: () => isDeleted, release: held.release };
  }

  it("the game can be changed meanwhile, and its cache follows the last change", async () => {
    const game = await aDeletedGame();
    const restored = await game.client.post(`${game.path}/restore`);
    expect(game.isDeleted(), "the cache's change was given up").to.equal(false);
    expect(restored.status, restored.text).to.equal(200);
    game.release();
    expect((await game.deleted).status).to.equal(204);
    await syncGameCaches(api.deps);
    const { cacheRevision, cacheAppliedRevision } = await api.deps.postgres.prisma.game.findUniqueOrThrow({ where: { id: game.id } });
    expect(cacheAppliedRevision).to.equal(cacheRevision);
  });

  it("a later change stands in the end, though a replica of the release before took it to the cluster meanwhile", async () => {
    const { prisma } = api.deps.postgres;
    const game = await aDeletedGame();
    expect((await game.client.post(`${game.path}/restore`)).status).to.equal(200);
    // That release asks for no right to do so. What it made of the GameCache, the held change undoes.
    const { cacheRevision } = await prisma.game.findUniqueOrThrow({ where: { id: game.id } });
    await prisma.game.update({ where: { id: game.id }, data: { cacheAppliedRevision: cacheRevision } });
    game.release();
    expect((await game.deleted).status).to.equal(204);
    await syncGameCaches(api.deps);
    await eventually(() => api.deps.cluster.gameCaches.cache.list().some(({ metadata }) => metadata.name === game.slug), { what: "the restored game's cache" });
    const settled = await eventually(async () => {
      const { cacheRevision: wanted, cacheAppliedRevision: applied } = await prisma.game.findUniqueOrThrow({ where: { id: game.id } });
      return wanted === applied ? { cacheRevision: wanted } : undefined;
    }, { what: "the cache's change to be noted" });
    await syncGameCaches(api.deps);
    expect(await prisma.game.findUniqueOrThrow({ where: { id: game.id } }), "once is enough").to.include(settled);
  });

  it("no more than two changes hold a connection to the database", async () => {
    const games = await Promise.all([aDeletedGame(), aDeletedGame()]);
    const partner = await aPartner(api.deps);
    const third = await aGame(api.deps, { partnerId: partner.id });
    const deleted = api.asPartner(partner).delete(`/api/partners/games/${third.slug}`);
    await eventually(async () => (await api.deps.postgres.prisma.game.findUniqueOrThrow({ where: { id: third.id } })).deletedAt !== null, { what: "the deletion" });
    const { rows } = await api.deps.postgres.pool.query<{ open: number }>("SELECT count(*)::int AS open FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction'");
    expect(rows[0]?.open).to.be.at.most(2);
    expect(cluster.requests.some(({ path }) => path.endsWith(`/gamecaches/${third.slug}`))).to.equal(false);
    for (const { release } of games) release();
    expect((await deleted).status).to.equal(204);
  });
});

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

  it("shows, keeps alive and lists a running session", async () => {
    expect((await player.get(`/api/game/session-status?sessionId=${id}`)).json()).to.include({
      status: "running",
    });
    const { expiresAt } = (await player.post("/api/game/keepalive", { sessionId: id })).json<{
      expiresAt: string;
    }>();
    expect(new Date(expiresAt).getTime()).to.be.above(Date.now() + 1_700_000);
    expect((await player.get("/api/game/sessions")).json<{ sessions: unknown[] }>().sessions).to.have.length(
      1,
    );
  });

  it("records a stop and returns 202, also for repeated stops", async () => {
    for (let count = 0; count < 2; count++) {
      const response = await player.post("/api/game/stop", { sessionId: id });
      expect(response.status, response.text).to.equal(202);
      expect(response.json()).to.deep.equal({ status: "stopping" });
    }
    const row = await api.deps.postgres.prisma.gameSession.findUniqueOrThrow({ where: { id } });
    expect(row).to.include({ status: "stopping", stopReason: "UserRequested" });
    expectErrorResponse(await player.post("/api/game/keepalive", { sessionId: id }), 404, "not_found");
  });
});

describe("a launch whose object is created after the Kubernetes API server's response timed out", function () {
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

  it("continues if the recorder has seen the object", async () => {
    await fixture.newPlayer();
    const id = await launchUntold();
    await fixture.makeReady(id);
  });

  it("looks for the object if the recorder has not seen it, and continues", async () => {
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
    const held = cluster.holdResponseOnce(
      ({ method, path }) => method === "POST" && path.endsWith("/gamesessions"),
    );
    const launched = fixture.launched();
    await held.carriedOut;
    const id = await launched;
    held.release();
    expect(await fixture.rowOf(id)).to.include({ status: "starting", failureReason: null });
    return id;
  }
});

describe("while the Kubernetes API server is slow to update a GameCache", function () {
  this.timeout(60_000);
  let api: TestApi;
  let cluster: FaultyApi;

  before(async () => {
    cluster = await FaultyApi.start(await sharedKubeApiServer());
    api = await TestApi.start({
      kube: true,
      isLed: true,
      env: { KUBECONFIG: cluster.kubeconfig() },
      hasFaults: true,
    });
  });
  after(async () => {
    await api.stop();
    await cluster.stop();
  });

  interface PartnersGame {
    id: string;
    slug: string;
    path: string;
    client: ApiClient;
  }

  async function aPartnersGame(): Promise<PartnersGame> {
    const partner = await aPartner(api.deps);
    const { id, slug } = await aGame(api.deps, { partnerId: partner.id });
    return { id, slug, path: `/api/partners/games/${slug}`, client: api.asPartner(partner) };
  }

  /**
   * Deletes the game; the cluster has been asked to delete its cache then, and answers once `release` is
   * called.
   */
  async function heldDeletion({ slug, path, client }: PartnersGame): Promise<{
    deleted: Promise<ApiResponse>;
    isDeleted: () => boolean;
    release: () => void;
  }> {
    const held = cluster.holdOnce(
      ({ method, path: address }) => method === "DELETE" && address.endsWith(`/gamecaches/${slug}`),
    );
    let isDeleted = false;
    const deleted = client.delete(path).finally(() => (isDeleted = true));
    await held.arrived;
    return { deleted, isDeleted: () => isDeleted, release: held.release };
  }

  it("changes the game, and the GameCache follows the last change", async () => {
    const game = await aPartnersGame();
    const deletion = await heldDeletion(game);
    const restored = await game.client.post(`${game.path}/restore`);
    expect(deletion.isDeleted(), "the cache's change was given up").to.equal(false);
    expect(restored.status, restored.text).to.equal(200);
    deletion.release();
    expect((await deletion.deleted).status).to.equal(204);
    await syncGameCaches(api.deps);
    const { cacheRevision, cacheAppliedRevision } = await api.deps.postgres.prisma.game.findUniqueOrThrow({
      where: { id: game.id },
    });
    expect(cacheAppliedRevision).to.equal(cacheRevision);
  });

  it("lets at most two updates hold a database connection", async () => {
    const { auditEvent } = api.deps.postgres.prisma;
    // All before the first one is held: the cluster is waited for only for three seconds.
    const [first, second, last, ...others] = (await Promise.all(
      Array.from({ length: 5 }, aPartnersGame),
    )) as [PartnersGame, PartnersGame, PartnersGame, ...PartnersGame[]];
    const held = await Promise.all([heldDeletion(first), heldDeletion(second)]);
    const waiting = [last, ...others];
    const deleted = waiting.map(({ client, path }) => client.delete(path));
    // What follows a deletion's event is the change of its cache.
    await eventually(
      async () =>
        (await auditEvent.count({
          where: { action: "game.deleted", subjectId: { in: waiting.map(({ id }) => id) } },
        })) === waiting.length,
      { what: "deletions whose caches are to be changed" },
    );
    expect((await last.client.get(last.path)).status, "a later request of the process").to.equal(404);
    const { rows } = await api.deps.postgres.pool.query<{ open: number }>(
      "SELECT count(*)::int AS open FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction'",
    );
    expect(
      cluster.requests.filter(({ path }) => waiting.some(({ slug }) => path.endsWith(`/gamecaches/${slug}`))),
    ).to.deep.equal([]);
    expect(
      held.map(({ isDeleted }) => isDeleted()),
      "the held changes were given up",
    ).to.deep.equal([false, false]);
    expect(rows[0]?.open).to.be.at.most(2);
    for (const { release } of held) release();
    expect((await Promise.all(deleted)).map(({ status }) => status)).to.deep.equal([204, 204, 204]);
  });
});

describe("while the Kubernetes API server rejects the GameCache of one game", function () {
  this.timeout(60_000);
  let api: TestApi;
  let cluster: FaultyApi;

  before(async () => {
    cluster = await FaultyApi.start(await sharedKubeApiServer());
    api = await TestApi.start({ kube: true, env: { KUBECONFIG: cluster.kubeconfig() }, hasFaults: true });
  });
  after(async () => {
    await api.stop();
    await cluster.stop();
  });

  it("updates the other games' GameCaches all the same, and the rejected one in a later pass", async () => {
    const { prisma } = api.deps.postgres;
    const games = (await Promise.all([aGame(api.deps), aGame(api.deps)])).toSorted((a, b) =>
      a.id < b.id ? -1 : 1,
    );
    const ids = games.map(({ id }) => id);
    await prisma.game.updateMany({ where: { id: { in: ids } }, data: { cacheRevision: { increment: 1 } } });
    const areApplied = async (): Promise<boolean[]> => {
      const rows = await prisma.game.findMany({ where: { id: { in: ids } }, orderBy: { id: "asc" } });
      return rows.map(({ cacheRevision, cacheAppliedRevision }) => cacheRevision === cacheAppliedRevision);
    };
    cluster.respondOnce(
      ({ method, path }) => method === "PATCH" && path.endsWith(`/gamecaches/${games[0]!.slug}`),
      403,
      {
        kind: "Status",
        apiVersion: "v1",
        status: "Failure",
        reason: "Forbidden",
        message: "exceeded quota: count/gamecaches",
        code: 403,
      },
    );
    await syncGameCaches(api.deps);
    // A pass leaves out a game that another one is at: this process may lead, and have its own.
    await eventually(async () => (await areApplied())[1], { what: "the other game's GameCache" });
    await eventually(
      async () => {
        await syncGameCaches(api.deps);
        return (await areApplied()).every(Boolean);
      },
      { what: "the refused GameCache to be written" },
    );
  });
});

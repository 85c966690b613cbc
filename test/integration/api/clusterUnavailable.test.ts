import { expect } from "chai";
import { aGame, aGameSessionRow, aUser, type TestUser } from "../../factories/catalog.ts";
import { FaultyApi } from "../../support/cluster/faultyApi.ts";
import { sharedKubeApiServer } from "../../support/cluster/kubeApiServer.ts";
import { LaunchFixture } from "../../support/fixtures/launchFixture.ts";
import { TestApi } from "../../support/http/api.ts";
import { expectErrorResponse, type ApiClient } from "../../support/http/apiClient.ts";

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

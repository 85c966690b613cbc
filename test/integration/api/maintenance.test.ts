import { expect } from "chai";
import { maintenanceConfigMap } from "#contracts/maintenance.ts";
import { configMaps, type ConfigMap } from "#kube/api/builtin.ts";
import { ResourceClient } from "#kube/client/resourceClient.ts";
import { expectErrorResponse } from "#test/support/http/apiClient.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { LaunchFixture } from "#test/support/fixtures/launchFixture.ts";
import { sharedKubeApiServer } from "#test/support/cluster/kubeApiServer.ts";

const since = "2026-11-23T02:00:00.000Z";

describe("maintenance", function () {
  this.timeout(60_000);
  let fixture: LaunchFixture;
  let configMap: ResourceClient<ConfigMap>;

  before(async () => {
    fixture = await LaunchFixture.start({ env: { LAUNCHES_PER_MINUTE: "100" } });
    configMap = new ResourceClient((await sharedKubeApiServer()).admin, configMaps);
  });
  beforeEach(() => fixture.newPlayer());
  afterEach(async () => {
    await configMap.delete(place()).catch(() => undefined);
    await eventually(async () => (await status()) === null, { what: "the end of the maintenance" });
  });
  after(() => fixture.stop());

  const place = () => ({
    namespace: fixture.api.deps.config.cluster.releaseNamespace,
    name: maintenanceConfigMap,
  });
  const status = async () =>
    (await fixture.api.anonymous().get("/api/status")).json<{ maintenance: unknown }>().maintenance;

  /** As an admin, by any tool; resolves once the API knows. */
  async function begin(data: Record<string, string>): Promise<void> {
    await configMap.create({ metadata: place(), data });
    await eventually(async () => (await status()) !== null, { what: "the API to know of the maintenance" });
  }

  it("rejects launches with the admin's message, and accepts them afterwards", async () => {
    await begin({ since, message: "We are back at 14:00." });
    const refused = await fixture.player.post("/api/game/launch", { gameSlug: fixture.game.slug });
    expectErrorResponse(refused, 503, "maintenance");
    expect(refused.json()).to.include({ message: "We are back at 14:00." });
    expect(refused.headers.get("retry-after")).to.equal("60");
    expect(
      await fixture.api.deps.postgres.prisma.gameSession.count({ where: { userId: fixture.user.id } }),
    ).to.equal(0);
    await configMap.delete(place());
    await eventually(async () => (await status()) === null, { what: "the end of the maintenance" });
    await fixture.launched();
  });

  it("keeps running sessions, and repeats the response of an earlier launch", async () => {
    const headers = { "idempotency-key": "a-launch-before-the-maintenance" };
    const body = { gameSlug: fixture.game.slug };
    const launched = await fixture.player.post("/api/game/launch", body, headers);
    const { sessionId } = launched.json<{ sessionId: string }>();
    await fixture.makeReady(sessionId);
    await begin({ since });
    expect((await fixture.player.post("/api/game/keepalive", { sessionId })).status).to.equal(200);
    expect((await fixture.player.post("/api/game/launch", body, headers)).text).to.equal(launched.text);
    const stopping = fixture.player.post("/api/game/stop", { sessionId });
    await fixture.operator.finish(sessionId);
    expect((await stopping).status).to.equal(200);
  });

  it("is public, and reduced to one line of text", async () => {
    await begin({ since, message: ` Back\nsoon\u0007 ${"x".repeat(500)}` });
    const told = (await status()) as { since: string; message: string };
    expect(told.since).to.equal(since);
    expect(told.message)
      .to.match(/^Back soon x+$/)
      .and.have.length(400);
  });

  it("needs no message", async () => {
    await begin({});
    const { creationTimestamp } = (await configMap.get(place())).metadata;
    expect(await status()).to.deep.equal({ since: new Date(creationTimestamp).toISOString(), message: null });
    const refused = await fixture.player.post("/api/game/launch", { gameSlug: fixture.game.slug });
    expectErrorResponse(refused, 503, "maintenance");
    expect(refused.json<{ message: string }>().message).to.match(/^Joypod is under maintenance/);
  });
});

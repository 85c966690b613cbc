import { gzipSync } from "node:zlib";
import { expect } from "chai";
import type { GameSessionStatus } from "#contracts/crd/gameSession.ts";
import { GameVerification } from "#contracts/http/gameVerifications.ts";
import { GameVersionsResponse, UploadResponse } from "#contracts/http/gameVersions.ts";
import { mebibyte } from "#contracts/limits.ts";
import { maintenanceConfigMap } from "#contracts/maintenance.ts";
import { runObservationsKey, runOutputKey } from "#contracts/objectKeys.ts";
import type { SessionObservations } from "#contracts/observations.ts";
import { serveVerifications } from "#api/gameSessions/verification/serveVerifications.ts";
import { syncGameCaches } from "#api/games/syncGameCaches.ts";
import { configMaps } from "#kube/api/builtin.ts";
import { ResourceClient } from "#kube/client/resourceClient.ts";
import { aGame, aPartner, aUser } from "#test/factories/catalog.ts";
import { someObservations } from "#test/factories/observations.ts";
import { aSavePicture } from "#test/factories/pictures.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { sharedKubeApiServer } from "#test/support/cluster/kubeApiServer.ts";
import { anArchive, archivedGame } from "#test/support/fixtures/archives.ts";
import { LaunchFixture } from "#test/support/fixtures/launchFixture.ts";
import { TestApi } from "#test/support/http/api.ts";
import { WebhookReceiver } from "#test/support/http/webhookReceiver.ts";
import { expectErrorResponse, type ApiClient } from "#test/support/http/apiClient.ts";

describe("verifications of versions", function () {
  this.timeout(60_000);
  let fixture: LaunchFixture;
  let client: ApiClient;
  let gamePath: string;
  let slug: string;
  let key: string;

  before(async () => {
    fixture = await LaunchFixture.start({
      slots: 0,
      minio: true,
      env: { PARTNER_UPLOADS_PER_HOUR: "1000", LAUNCHES_PER_MINUTE: "1000", GAME_VERIFY: "off" },
    });
    const offered = { cpuMillicores: 4000, memoryBytes: 4096 * mebibyte };
    const capacity = { slots: 2, used: 0, schedulable: true, offered };
    const name = await fixture.operator.addNode(2, { capacity });
    await eventually(() => fixture.api.deps.cluster.gameNode(name)?.status?.capacity !== undefined, {
      what: "the API to see the node",
    });
  });
  beforeEach(async () => {
    const partner = await aPartner(fixture.api.deps);
    client = fixture.api.asPartner(partner);
    ({ key } = partner);
    ({ slug } = await aGame(fixture.api.deps, {
      partnerId: partner.id,
      status: "pending_upload",
      ...archivedGame,
    }));
    gamePath = `/api/partners/games/${slug}`;
  });
  afterEach(async () => {
    const { pool } = fixture.api.deps.postgres;
    await pool.query("DELETE FROM game_verifications");
    await pool.query(
      "UPDATE game_sessions SET status = 'stopped', ended_at = now(), recorded_at = now(), slot_released_at = now() WHERE recorded_at IS NULL",
    );
    const { cache } = fixture.api.deps.cluster.gameSessions;
    for (const { metadata } of cache.list()) await fixture.operator.vanish(metadata.name);
    await eventually(() => cache.list().length === 0, { what: "an empty cluster" });
  });
  after(async () => {
    await fixture.operator.removeNodes();
    await fixture.stop();
  });

  const verify = async (mode: "off" | "report" | "require" | null): Promise<void> => {
    const response = await client.patch(gamePath, { verify: mode });
    expect(response.json(), response.text).to.include({ verify: mode });
  };
  async function upload(query = "", archive?: Buffer): Promise<UploadResponse> {
    const response = await client.put(`${gamePath}/upload${query}`, archive ?? (await anArchive()), {
      "content-type": "application/gzip",
    });
    expect(response.status, response.text).to.equal(200);
    return UploadResponse.parse(response.json());
  }
  const pathOf = (versionId: string): string => `${gamePath}/versions/${versionId}/verification`;
  async function verification(versionId: string): Promise<GameVerification> {
    const response = await client.get(pathOf(versionId));
    expect(response.status, response.text).to.equal(200);
    return GameVerification.parse(response.json());
  }
  async function currentVersion(): Promise<string | undefined> {
    const { versions } = GameVersionsResponse.parse((await client.get(`${gamePath}/versions`)).json());
    return versions.find(({ isCurrent }) => isCurrent)?.id;
  }
  async function attempts(versionId: string): Promise<number | undefined> {
    const found = { where: { versionId } };
    return (await fixture.api.deps.postgres.prisma.gameVerification.findUnique(found))?.attempts;
  }
  const registrationOf = (name: string) => ({ ...archivedGame, slug: name, title: name, developer: name });
  /** Registers another game of the same partner, which the helpers then use. */
  async function anotherGame(): Promise<void> {
    slug = `${slug}-too`;
    gamePath = `/api/partners/games/${slug}`;
    const response = await client.post("/api/partners/games", registrationOf(slug));
    expect(response.status, response.text).to.equal(201);
  }
  async function pass(): Promise<void> {
    await syncGameCaches(fixture.api.deps);
    await serveVerifications(fixture.api.deps);
  }

  /** Serves the queue of verifications, and returns the session that plays the version. */
  async function started(versionId: string): Promise<string> {
    await pass();
    const { rows } = await fixture.api.deps.postgres.pool.query<{ id: string }>(
      "SELECT session_id AS id FROM game_verifications WHERE version_id = $1 AND state = 'running'",
      [versionId],
    );
    const id = rows[0]?.id;
    if (id === undefined) throw new Error("The verification does not run.");
    await eventually(() => fixture.api.deps.cluster.gameSession(id) !== undefined, { what: "the session" });
    return id;
  }

  /** Ends the session as operator and node agent do, and serves the verifications again. */
  async function played(
    id: string,
    observed: SessionObservations | undefined,
    status: GameSessionStatus = { stopReason: "MaxDuration" },
  ): Promise<void> {
    const { client: store, bucket } = fixture.api.deps.objectStore;
    if (observed !== undefined)
      await store.putObject(bucket, runObservationsKey(id), gzipSync(JSON.stringify(observed)));
    await store.putObject(bucket, runOutputKey(id), gzipSync("level 1\u0007\n"));
    await fixture.operator.finish(id, status);
    await eventually(() => fixture.api.deps.cluster.gameSession(id)?.status?.finishedAt !== undefined, {
      what: "the end of the session",
    });
    await pass();
  }

  it("play an upload in a session that is nobody's, and report what it showed", async () => {
    await verify("report");
    const { versionId, isCurrent } = await upload();
    expect(isCurrent).to.equal(true);
    expect(await verification(versionId)).to.include({ state: "waiting", verdict: null, report: null });
    const id = await started(versionId);
    const { metadata, spec } = await fixture.operator.session(id);
    expect(spec).to.include({ purpose: "Verification", userId: "verification", maxDurationSeconds: 60 });
    expect(spec, "nodes may have to download it first").to.include({
      downloadDeadlineSeconds: 900,
      startDeadlineSeconds: 1200,
      idleTimeoutSeconds: 2220,
    });
    expect(metadata.finalizers ?? []).to.be.empty;
    const sessions = await fixture.api.deps.postgres.prisma.gameSession.count({ where: { id } });
    expect(sessions, "no player's history, limit or total counts it").to.equal(0);
    expect(await verification(versionId)).to.include({ state: "running" });

    const jpeg = aSavePicture();
    await played(
      id,
      someObservations({
        refusals: [{ kind: "write", detail: "/game/save.dat\u0000" }],
        pictures: [
          { atSeconds: 5, jpeg: jpeg.toString("base64") },
          { atSeconds: 15, jpeg: Buffer.from("<script>").toString("base64") },
        ],
      }),
    );
    const done = await verification(versionId);
    expect(done).to.include({ state: "done", verdict: "good" });
    expect(done.findings.map(({ code }) => code)).to.deep.equal(["write_refused", "nothing_saved"]);
    expect(done.findings[0]?.details, "what comes from a pod").to.deep.equal(["/game/save.dat\\x00"]);
    expect(done.report).to.deep.include({ framesPerSecond: 59.9, pictures: [5, 15], log: "level 1\\x07\n" });
    const picture = await fetch(`${fixture.api.url}${pathOf(versionId)}/pictures/5`, {
      headers: { authorization: `Bearer ${key}` },
    });
    expect(picture.headers.get("content-type")).to.equal("image/jpeg");
    expect(Buffer.from(await picture.arrayBuffer()).equals(jpeg)).to.equal(true);
    for (const seconds of ["15", "30", "7"])
      expectErrorResponse(await client.get(`${pathOf(versionId)}/pictures/${seconds}`), 404, "not_found");
    const listed = GameVersionsResponse.parse((await client.get(`${gamePath}/versions`)).json());
    expect(listed.versions[0]?.verification).to.deep.equal({ state: "done", verdict: "good" });
  });

  it("keep an upload from players until the verdict is good, if they are required", async () => {
    await verify("require");
    const bad = await upload();
    expect(bad.isCurrent).to.equal(false);
    await played(await started(bad.versionId), someObservations({ firstPictureSeconds: null }));
    expect(await verification(bad.versionId)).to.include({ state: "done", verdict: "bad", isRequired: true });
    expect((await client.get(gamePath)).json()).to.include({ status: "pending_upload" });

    const receiver = await WebhookReceiver.start();
    const subscription = { url: receiver.url, events: ["version.verified"] };
    const webhook = await client.post("/api/partners/webhooks", subscription);
    expect(webhook.status, webhook.text).to.equal(201);
    const good = await upload();
    await played(await started(good.versionId), someObservations());
    const { rows } = await fixture.api.deps.postgres.pool.query<{ data: unknown }>(
      "SELECT data FROM webhook_deliveries WHERE data ->> 'gameVersionId' = $1",
      [good.versionId],
    );
    await receiver.stop();
    expect(rows[0]?.data).to.deep.include({ gameSlug: slug, verdict: "good", findings: ["nothing_saved"] });
    expect(await verification(good.versionId)).to.include({ verdict: "good", isRequired: false });
    expect((await client.get(gamePath)).json()).to.include({ status: "active" });
  });

  it("activate nothing once the partner has activated another version by hand", async () => {
    await verify("require");
    const [waiting, chosen] = [await upload(), await upload("?autoActivate=false")];
    const activated = await client.post(`${gamePath}/versions/${chosen.versionId}/activate`);
    expect(activated.status, activated.text).to.equal(200);
    await played(await started(waiting.versionId), someObservations());
    expect(await verification(waiting.versionId)).to.include({ verdict: "good" });
    expect(await currentVersion()).to.equal(chosen.versionId);
  });

  it("never bring an older version back", async () => {
    await verify("require");
    const older = await upload();
    await verify("off");
    const newer = await upload();
    expect(newer.isCurrent).to.equal(true);
    expect(await verification(older.versionId)).to.include({ isRequired: false });
    await played(await started(older.versionId), someObservations());
    expect(await verification(older.versionId)).to.include({ verdict: "good" });
    expect(await currentVersion()).to.equal(newer.versionId);
  });

  it("run again after a bad verdict if the archive is uploaded again and requires a good one", async () => {
    await verify("require");
    const archive = await anArchive();
    const { versionId } = await upload("", archive);
    await played(await started(versionId), someObservations({ firstPictureSeconds: null }));
    expect(await verification(versionId)).to.include({ verdict: "bad" });
    expect(await upload("", archive)).to.include({ versionId, isCurrent: false });
    expect(await verification(versionId)).to.include({ state: "waiting", isRequired: true });
    await played(await started(versionId), someObservations());
    expect(await currentVersion()).to.equal(versionId);
  });

  it("count an attempt, and follow the others, if one cannot be judged", async () => {
    const { pool } = fixture.api.deps.postgres;
    const setState = (versionId: string, state: string) =>
      pool.query("UPDATE game_verifications SET state = $2 WHERE version_id = $1", [versionId, state]);
    await verify("require");
    const lost = await upload();
    const lostSession = await started(lost.versionId);
    await setState(lost.versionId, "good"); // One plays at a time.
    await anotherGame();
    await verify("report");
    const other = await upload();
    const session = await started(other.versionId);
    await played(lostSession, someObservations());
    await pool.query("UPDATE game_versions SET removed_at = now() WHERE id = $1", [lost.versionId]);
    await setState(lost.versionId, "running");
    await played(session, someObservations());
    expect(await verification(other.versionId)).to.include({ verdict: "good" });
    expect(await attempts(lost.versionId)).to.equal(1);
  });

  it("start with those that an activation waits for, and pass one that no node has room for", async () => {
    await verify("report");
    const first = await upload();
    await anotherGame();
    await verify("require");
    expect((await client.patch(gamePath, { resources: { memoryMb: 8192 } })).status).to.equal(200);
    const large = await upload();
    await anotherGame();
    await verify("require");
    const { versionId } = await upload();
    await started(versionId);
    const { rows } = await fixture.api.deps.postgres.pool.query<{ id: string }>(
      "SELECT version_id AS id FROM game_verifications WHERE state = 'waiting' ORDER BY requested_at",
    );
    expect(rows.map(({ id }) => id)).to.deep.equal([first.versionId, large.versionId]);
  });

  it("do not expire during a maintenance", async () => {
    const configMap = new ResourceClient((await sharedKubeApiServer()).admin, configMaps);
    const { maintenance, config, postgres } = fixture.api.deps;
    const place = { namespace: config.cluster.releaseNamespace, name: maintenanceConfigMap };
    await verify("require");
    const { versionId } = await upload();
    await postgres.pool.query("UPDATE game_verifications SET requested_at = now() - interval '31 minutes'");
    await configMap.create({ metadata: place, data: { since: "2026-11-23T02:00:00.000Z" } });
    try {
      await eventually(() => maintenance.current() !== undefined, { what: "the maintenance" });
      await pass();
      expect(await verification(versionId)).to.include({ state: "waiting" });
    } finally {
      await configMap.delete(place);
      await eventually(() => maintenance.current() === undefined, { what: "the end of the maintenance" });
    }
    await pass();
    expect(await verification(versionId)).to.include({ state: "expired" });
  });

  it("expire after half an hour if an activation waits for them", async () => {
    await verify("require");
    const { versionId } = await upload();
    await fixture.api.deps.postgres.pool.query(
      "UPDATE game_verifications SET requested_at = now() - interval '31 minutes' WHERE version_id = $1",
      [versionId],
    );
    await pass();
    expect(await verification(versionId)).to.include({ state: "expired", verdict: null });
    expect((await client.get(gamePath)).json()).to.include({ status: "pending_upload" });
    const again = await client.post(pathOf(versionId));
    expect(again.status, again.text).to.equal(202);
    await played(await started(versionId), someObservations());
    expect((await client.get(gamePath)).json()).to.include({ status: "active" });
  });

  it("give way to players, whom they never keep from a seat", async () => {
    await verify("report");
    const { versionId } = await upload();
    const id = await started(versionId);
    for (let players = 0; players < 2; players++) {
      const player = fixture.api.as(await aUser(fixture.api.deps));
      const response = await player.post("/api/game/launch", { gameSlug: slug });
      expect(response.status, response.text).to.equal(202);
    }
    await pass();
    expect((await fixture.operator.session(id)).spec).to.include({ desiredState: "Stopped" });
    expect(await verification(versionId)).to.include({ state: "waiting" });
    await pass();
    expect(await verification(versionId), "no seat is free").to.include({ state: "waiting" });
  });

  it("are repeated after a failure of the platform, three times at most", async () => {
    await verify("report");
    const { versionId } = await upload();
    const failures = [
      ["NodeLost", "NodeLost", undefined],
      ["Failed", "StreamerFailed", someObservations()],
      ["Failed", "StartTimedOut", someObservations({ firstWindowSeconds: null })],
    ] as const;
    for (const [index, [stopReason, reason, observed]] of failures.entries()) {
      await played(await started(versionId), observed, {
        finishedAt: new Date(Date.now() - 60_000).toISOString(),
        stopReason,
        failure: { reason, message: "It failed." },
      });
      expect(await attempts(versionId), reason).to.equal(index + 1);
    }
    await pass();
    expect(await verification(versionId)).to.include({ state: "expired" });
  });

  it("are off unless the site or the partner asks for them, and the partner's own", async () => {
    const { versionId } = await upload();
    expectErrorResponse(await client.get(pathOf(versionId)), 404, "not_found");
    expect((await client.post(pathOf(versionId))).status).to.equal(202);
    const stranger = fixture.api.asPartner(await aPartner(fixture.api.deps));
    for (const response of [
      await stranger.get(pathOf(versionId)),
      await stranger.post(pathOf(versionId)),
      await stranger.get(`${pathOf(versionId)}/pictures/5`),
    ])
      expectErrorResponse(response, 404, "not_found");
    expectErrorResponse(await client.post(pathOf("unknown")), 404, "not_found");
    expectErrorResponse(await client.patch(gamePath, { verify: "always" }), 400, "invalid_request");
  });

  it("are refused by a site that verifies nothing, which is the default", async () => {
    const api = await TestApi.start();
    try {
      const partner = await aPartner(api.deps);
      const game = await aGame(api.deps, { partnerId: partner.id });
      const asPartner = api.asPartner(partner);
      const path = `/api/partners/games/${game.slug}`;
      const registration = { ...registrationOf(`${game.slug}-too`), verify: "require" };
      for (const response of [
        await asPartner.patch(path, { verify: "report" }),
        await asPartner.patch(path, { verify: "require" }),
        await asPartner.post("/api/partners/games", registration),
        await asPartner.post(`${path}/versions/${game.versionId}/verification`),
      ]) {
        expectErrorResponse(response, 409, "conflict");
        expect(response.json<{ message: string }>().message).to.contain("does not verify games");
      }
      for (const mode of ["off", null])
        expect((await asPartner.patch(path, { verify: mode })).status).to.equal(200);
    } finally {
      await api.stop();
    }
  });

  it("stop at a site that no longer verifies anything", async () => {
    await verify("require");
    const { versionId } = await upload();
    const { deps } = fixture.api;
    const config = { ...deps.config, partner: { ...deps.config.partner, verify: "never" as const } };
    await syncGameCaches(deps);
    await serveVerifications({ ...deps, config });
    expect(await verification(versionId)).to.include({ state: "waiting" });
  });
});

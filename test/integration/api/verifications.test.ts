import { gzipSync } from "node:zlib";
import { expect } from "chai";
import type { GameSessionStatus } from "#contracts/crd/gameSession.ts";
import { GameVerification } from "#contracts/http/gameVerifications.ts";
import { GameVersionsResponse, UploadResponse } from "#contracts/http/gameVersions.ts";
import { runObservationsKey, runOutputKey } from "#contracts/objectKeys.ts";
import type { SessionObservations } from "#contracts/observations.ts";
import { serveVerifications } from "#api/gameSessions/verification/serveVerifications.ts";
import { syncGameCaches } from "#api/games/syncGameCaches.ts";
import { aGame, aPartner, aUser } from "#test/factories/catalog.ts";
import { someObservations } from "#test/factories/observations.ts";
import { aSavePicture } from "#test/factories/pictures.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { anArchive, archivedGame } from "#test/support/fixtures/archives.ts";
import { LaunchFixture } from "#test/support/fixtures/launchFixture.ts";
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
      slots: 2,
      minio: true,
      env: { PARTNER_UPLOADS_PER_HOUR: "1000", LAUNCHES_PER_MINUTE: "1000", GAME_VERIFY: "off" },
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
  async function upload(query = ""): Promise<UploadResponse> {
    const response = await client.put(`${gamePath}/upload${query}`, await anArchive(), {
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
    const webhook = await client.post("/api/partners/webhooks", {
      url: receiver.url,
      events: ["version.verified"],
    });
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
    const listed = GameVersionsResponse.parse((await client.get(`${gamePath}/versions`)).json());
    expect(listed.versions.find(({ isCurrent }) => isCurrent)?.id).to.equal(chosen.versionId);
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
    for (let attempt = 0; attempt < 3; attempt++)
      await played(await started(versionId), undefined, {
        finishedAt: new Date(Date.now() - 60_000).toISOString(),
        stopReason: "NodeLost",
        failure: { reason: "NodeLost", message: "The node is lost." },
      });
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
});

import { expect } from "chai";
import { cacheReadyReasons, cacheStalledReasons } from "#contracts/crd/gameCache.ts";
import { failureReasons } from "#contracts/crd/gameSessionReasons.ts";
import { UploadResponse } from "#contracts/http/gameVersions.ts";
import { webhookEventTypes, webhookPayloads, WebhookWithSecret } from "#contracts/http/webhooks.ts";
import { aUser } from "#test/factories/catalog.ts";
import { aCondition } from "#test/factories/gameSession.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { anArchive, sha256Of } from "#test/support/fixtures/archives.ts";
import { UploadInChunks } from "#test/support/fixtures/uploadInChunks.ts";
import { UploadFixture } from "#test/support/fixtures/uploadFixture.ts";
import { verified, WebhookReceiver, type WebhookPayload } from "#test/support/http/webhookReceiver.ts";
import { runJoypod } from "#test/support/processes/joypod.ts";

describe("events of webhooks", function () {
  this.timeout(60_000);
  let fixture: UploadFixture;
  let receiver: WebhookReceiver;
  let secret: string;

  before(async () => {
    fixture = await UploadFixture.start({ PARTNER_UPLOADS_PER_HOUR: "1000" });
  });
  beforeEach(async () => {
    await fixture.newGame();
    receiver = await WebhookReceiver.start();
    const created = await fixture.client.post("/api/partners/webhooks", { url: receiver.url });
    ({ secret } = WebhookWithSecret.parse(created.json()));
  });
  afterEach(() => receiver.stop());
  after(() => fixture.stop());

  /** Waits until so many events have arrived, and returns those of the types, by what their schemas say. */
  async function eventsOf(count: number, ...types: string[]): Promise<WebhookPayload[]> {
    const events = (await receiver.waitFor(count)).map((delivery) => verified(delivery, secret));
    for (const event of events) {
      const schema = webhookPayloads.get(webhookEventTypes.find((type) => type === event.type)!);
      expect(schema!.parse(event), event.type).to.deep.equal(event);
    }
    return events.filter(({ type }) => types.includes(type));
  }

  async function upload(query = "", archive?: Buffer): Promise<UploadResponse> {
    const response = await fixture.client.put(`${fixture.path}${query}`, archive ?? (await anArchive()), {
      "content-type": "application/gzip",
    });
    expect(response.status, response.text).to.equal(200);
    return UploadResponse.parse(response.json());
  }

  const activate = (versionId: string) =>
    fixture.client.post(`/api/partners/games/${fixture.game.slug}/versions/${versionId}/activate`);

  /** As the operator: reports the state of the game's cache. */
  async function reportCache(state: "distributed" | "failed"): Promise<void> {
    const { slug } = fixture.game;
    const cache = await eventually(() => fixture.operator.cache(slug), { what: "the cache" });
    const { sha256 } = cache.spec.source;
    const isFailed = state === "failed";
    const ready = isFailed ? cacheReadyReasons.nodesFailed : cacheReadyReasons.allNodesCached;
    await fixture.operator.reportCache(slug, {
      observedGeneration: cache.metadata.generation ?? 0,
      currentDigest: sha256,
      totalNodes: 2,
      cachedNodes: isFailed ? 1 : 2,
      failedNodes: isFailed ? 1 : 0,
      nodes: [
        { nodeName: "node-a", state: "Cached", digest: sha256 },
        {
          nodeName: "node-b",
          state: isFailed ? "Failed" : "Cached",
          digest: sha256,
          ...(isFailed && { reason: "The game does not fit on the node." }),
        },
      ],
      conditions: [
        { ...aCondition("Ready"), status: isFailed ? "False" : "True", reason: ready },
        {
          ...aCondition("Stalled"),
          status: isFailed ? "True" : "False",
          reason: isFailed ? cacheStalledReasons.nodesFailed : cacheStalledReasons.noFailure,
        },
      ],
    });
  }

  it("tell of uploads and activations, with the partner's label", async () => {
    const archive = await anArchive();
    const first = await upload("?label=1.0", archive);
    const { gameSlug, versionLabel, gameVersionId } = {
      gameSlug: fixture.game.slug,
      versionLabel: "1.0",
      gameVersionId: first.versionId,
    };
    const events = await eventsOf(2, "version.uploaded", "version.activated");
    expect(events.map(({ data }) => data)).to.have.deep.members([
      {
        gameSlug,
        versionLabel,
        gameVersionId,
        checksum: `sha256:${sha256Of(archive)}`,
        size: archive.length,
        isCurrent: true,
      },
      { gameSlug, versionLabel, gameVersionId, channel: "default" },
    ]);
    const second = await upload("?autoActivate=false");
    const [waiting] = (await eventsOf(3, "version.uploaded")).slice(1);
    expect(waiting!.data).to.include({ gameVersionId: second.versionId, isCurrent: false });
    expect((await activate(second.versionId)).status).to.equal(200);
    expect((await eventsOf(4, "version.activated")).at(-1)!.data).to.include({
      gameVersionId: second.versionId,
    });
    expect((await activate(second.versionId)).status, "again").to.equal(200);
    await upload("?channel=beta", archive);
    const [uploaded, beta] = (await eventsOf(6, "version.uploaded", "version.activated"))
      .slice(4)
      .toSorted((left, right) => (left.type > right.type ? -1 : 1));
    expect(uploaded!.data, "kept already").to.include({ gameVersionId: first.versionId, isCurrent: false });
    expect(beta!.data).to.include({ gameVersionId: first.versionId, channel: "beta", versionLabel: "1.0" });
    const command = ["game", "activate", fixture.game.slug, first.versionId];
    const { code, stderr } = await runJoypod(command, { env: { DATABASE_URL: fixture.api.database.url } });
    expect(code, stderr).to.equal(0);
    expect((await eventsOf(7, "version.activated")).at(-1)!.data).to.include({
      gameVersionId: first.versionId,
      channel: "default",
    });
  });

  it("tell of a refused archive, also of one in chunks", async () => {
    const archive = await anArchive({ header: { name: "../evil", size: 1 }, body: "x" });
    const response = await fixture.upload(archive);
    expect(response.status).to.equal(422);
    const [event] = await eventsOf(1, "version.failed");
    expect(event!.data).to.deep.equal({
      gameSlug: fixture.game.slug,
      gameVersionId: null,
      versionLabel: null,
      stage: "upload",
      reason: "invalid_archive",
      message: response.json<{ message: string }>().message,
    });
    const inChunks = await UploadInChunks.create(fixture.client, fixture.game.slug, archive.length);
    await inChunks.appended(0, archive);
    expect((await eventsOf(2, "version.failed"))[1]!.data).to.deep.equal(event!.data);
  });

  it("tell once per activation that every selected server has the version, and that one has not", async () => {
    const first = await upload();
    await reportCache("failed");
    const [failed] = await eventsOf(3, "version.failed");
    expect(failed!.data).to.deep.include({
      gameVersionId: first.versionId,
      stage: "distribution",
      reason: "nodes_failed",
      message: "1 of 2 game servers could not fetch it: The game does not fit on the node.",
    });
    await reportCache("distributed");
    const [distributed] = await eventsOf(4, "version.distributed");
    expect(distributed!.data).to.deep.include({ gameVersionId: first.versionId, servers: 2 });
    await reportCache("failed");
    await reportCache("distributed");
    const second = await upload();
    await eventsOf(6, "version.uploaded");
    await eventually(
      async () =>
        (await fixture.operator.cache(fixture.game.slug))!.spec.source.key.includes(second.versionId),
      { what: "the cache of the second version" },
    );
    await reportCache("distributed");
    await eventsOf(7, "version.distributed");
    await activate(first.versionId);
    await eventually(
      async () =>
        (await fixture.operator.cache(fixture.game.slug))!.spec.source.key.includes(first.versionId),
      { what: "the cache of the first version" },
    );
    await reportCache("distributed");
    const all = await eventsOf(9, "version.distributed", "version.failed");
    expect(all.map(({ type, data }) => [type, data["gameVersionId"]])).to.deep.equal([
      ["version.failed", first.versionId],
      ["version.distributed", first.versionId],
      ["version.distributed", second.versionId],
      ["version.distributed", first.versionId],
    ]);
  });

  it("tell of a crash, but not of an ordinary end or a failure of the platform, and name no player", async () => {
    const { versionId } = await upload("?label=1.0");
    const user = await aUser(fixture.api.deps);
    const player = fixture.api.as(user);
    async function play(end: Parameters<typeof fixture.operator.finish>[1]): Promise<string> {
      const response = await player.post("/api/game/launch", { gameSlug: fixture.game.slug });
      expect(response.status, response.text).to.equal(202);
      const { sessionId } = response.json<{ sessionId: string }>();
      await fixture.operator.makeReady(sessionId);
      await fixture.operator.finish(sessionId, end);
      await eventually(
        async () =>
          (
            await fixture.api.deps.postgres.prisma.gameSession.findUniqueOrThrow({
              where: { id: sessionId },
            })
          ).recordedAt !== null,
        { what: "the session's end" },
      );
      return sessionId;
    }
    await play({});
    await play({ failure: { reason: failureReasons.nodeLost, message: "The node is gone." } });
    const crashed = await play({
      failure: { reason: failureReasons.gameCrashed, message: "The game exited with code 139 (SIGSEGV)." },
      exit: { code: 139, signal: "SIGSEGV" },
    });
    const [event, ...more] = await eventsOf(3, "run.crashed");
    expect(more).to.be.empty;
    expect(event!.data).to.deep.include({
      gameSlug: fixture.game.slug,
      gameVersionId: versionId,
      versionLabel: "1.0",
    });
    const listed = await fixture.client.get(`/api/partners/games/${fixture.game.slug}/runs/${crashed}`);
    expect(listed.json(), "in the list of runs").to.deep.include(event!.data["run"]);
    expect(event!.data["run"]).to.deep.include({
      id: crashed,
      failure: { reason: "GameCrashed", message: "The game exited with code 139 (SIGSEGV)." },
      exit: { code: 139, signal: "SIGSEGV" },
    });
    for (const text of [user.id, user.name, user.email])
      expect(JSON.stringify(receiver.received)).not.to.include(text);
  });
});

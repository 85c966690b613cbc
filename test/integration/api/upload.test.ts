import { expect } from "chai";
import { createHash, randomBytes } from "node:crypto";
import { createPartnerKey } from "#api/partners/keyFormat.ts";
import { sweepUploads, sweepVersions } from "#api/background/sweeper.ts";
import { aUser } from "../../factories/catalog.ts";
import { expectRefusal } from "../../support/http/apiClient.ts";
import { ApiProcess } from "../../support/http/apiProcess.ts";
import { anArchive, sha256Of } from "../../support/fixtures/archives.ts";
import { eventually } from "../../support/clocks/eventually.ts";
import { UploadStage } from "../../support/fixtures/uploadFixture.ts";

describe("PUT /api/partners/games/:slug/upload", function () {
  this.timeout(180_000);
  let stage: UploadStage;

  before(async () => {
    stage = await UploadStage.start({ UPLOAD_MAX_BYTES: String(400 * 2 ** 20) });
  });
  beforeEach(() => stage.newGame());
  after(() => stage.stop());

  it("makes the archive the game's current version everywhere", async () => {
    const archive = await anArchive();
    const sha256 = sha256Of(archive);
    const response = await stage.upload(archive);
    expect(response.status, response.text).to.equal(200);
    expect(response.json()).to.deep.equal({ status: "ok", slug: stage.game.slug, size: archive.length, checksum: `sha256:${sha256}` });
    expect(response.headers.get("repr-digest")).to.equal(`sha-256=:${Buffer.from(sha256, "hex").toString("base64")}:`);
    expect(await stage.stateOf()).to.include({ status: "active" });
    const { spec } = (await stage.operator.cache(stage.game.slug))!;
    const stored = await stage.minio.client.getObject(spec.source.bucket, spec.source.key);
    expect(sha256Of(Buffer.concat(await stored.toArray()))).to.equal(sha256);
    expect(spec.source).to.include({ sha256, sizeBytes: archive.length, unpackedSizeBytes: 2009 });
    const version = await stage.api.deps.postgres.prisma.gameVersion.findFirstOrThrow({ where: { gameId: stage.game.id } });
    expect(version).to.deep.include({ rootFiles: ["play.sh"], rootDirectories: ["engine"] });
    const sync = await stage.client.get(`/api/partners/games/${stage.game.slug}/sync`);
    expect(sync.json()).to.include({ cachedOn: 0 });
  });

  it("takes the same archive again without doing anything", async () => {
    const archive = await anArchive();
    await stage.uploaded(archive);
    const [before, cache] = [await stage.stateOf(), await stage.operator.cache(stage.game.slug)];
    const again = await stage.upload(archive, { "content-type": "application/x-gzip", "upload-complete": "?1" });
    expect(again.status).to.equal(200);
    expect(again.json()).to.include({ checksum: `sha256:${sha256Of(archive)}` });
    expect(await stage.stateOf()).to.deep.equal(before);
    expect((await stage.operator.cache(stage.game.slug))!.metadata.resourceVersion).to.equal(cache!.metadata.resourceVersion);
    expect(await stage.objectKeys()).to.have.length(1);
    expect(await stage.unfinishedUploads()).to.be.empty;
  });

  it("switches to a new version while sessions play the old one, and keeps that until they end", async () => {
    const [old, next] = [await anArchive(), await anArchive()];
    await stage.uploaded(old);
    const player = stage.api.as(await aUser(stage.api.deps));
    const { sessionId } = (await player.post("/api/game/launch", { gameSlug: stage.game.slug })).json<{ sessionId: string }>();
    await stage.uploaded(next);
    const { spec } = (await stage.operator.cache(stage.game.slug))!;
    expect(spec.source.sha256).to.equal(sha256Of(next));
    expect(spec.previousSources!.map(({ sha256 }) => sha256)).to.deep.equal([sha256Of(old)]);
    expect((await stage.operator.session(sessionId)).spec.contentDigest).to.equal(sha256Of(old));
    const { prisma } = stage.api.deps.postgres;
    await prisma.gameVersion.updateMany({ where: { gameId: stage.game.id, supersededAt: { not: null } }, data: { supersededAt: new Date(Date.now() - 3600_000) } });
    await sweepVersions(stage.api.deps);
    expect(await stage.objectKeys()).to.have.length(2);
    await stage.operator.finish(sessionId);
    await eventually(async () => (await prisma.gameSession.findUniqueOrThrow({ where: { id: sessionId } })).endedAt !== null);
    await sweepVersions(stage.api.deps);
    expect(await stage.objectKeys()).to.deep.equal([spec.source.key]);
    await eventually(async () => ((await stage.operator.cache(stage.game.slug))!.spec.previousSources ?? []).length === 0, { what: "the cache to forget the old version" });
  });

  it("lets one of two uploads at once through, whole", async () => {
    const archive = await anArchive();
    const slow = await stage.beginUpload(archive);
    const second = await stage.upload(await anArchive());
    expectRefusal(second, 409, "upload_in_progress");
    slow.request.end(archive.subarray(100));
    expect(await slow.answered).to.equal(200);
    expect((await stage.operator.cache(stage.game.slug))!.spec.source.sha256).to.equal(sha256Of(archive));
  });

  it("frees the place of an upload that died with its process, and removes its remains", async () => {
    const { prisma } = stage.api.deps.postgres;
    const objectKey = `archives/${stage.game.id}/dead.tar.gz`;
    const uploadId = await stage.minio.client.initiateNewMultipartUpload(stage.minio.bucket, objectKey, {});
    const part = { bucketName: stage.minio.bucket, objectName: objectKey, uploadID: uploadId, partNumber: 1, headers: { "content-length": "4" } };
    await stage.minio.client.uploadPart(part, Buffer.from("dead"));
    await prisma.gameUpload.create({ data: { id: `dead-${stage.game.id}`, gameId: stage.game.id, objectKey, renewedAt: new Date(Date.now() - 61_000) } });
    await stage.uploaded(await anArchive());
    await sweepUploads(stage.api.deps);
    expect(await prisma.gameUpload.count({ where: { gameId: stage.game.id } })).to.equal(0);
    await eventually(async () => (await stage.minio.client.findUploadId(stage.minio.bucket, objectKey)) === undefined);
  });

  it("leaves nothing of an upload whose process is killed, and serves the old version meanwhile", async () => {
    const { prisma } = stage.api.deps.postgres;
    await stage.uploaded(await anArchive());
    const before = await stage.stateOf();
    const process = await ApiProcess.beside(stage.api);
    const noise = randomBytes(20 * 2 ** 20);
    const archive = await anArchive({ header: { name: "engine/noise.bin", size: noise.length }, body: noise });
    const { request } = await stage.beginUpload(archive, process.url);
    request.on("error", () => undefined);
    request.write(archive.subarray(100, -1000));
    await eventually(async () => await stage.storedBytes() > 0, { what: "a part to be stored" });
    await process.stop("SIGKILL");
    request.destroy();
    expect(await stage.stateOf()).to.deep.equal(before);
    expect(await stage.unfinishedUploads()).to.have.length(1);
    await prisma.gameUpload.updateMany({ where: { gameId: stage.game.id }, data: { renewedAt: new Date(Date.now() - 61_000) } });
    await stage.uploaded(archive);
    await sweepUploads(stage.api.deps);
    expect(await stage.unfinishedUploads()).to.be.empty;
    expect(await prisma.gameUpload.count({ where: { gameId: stage.game.id } })).to.equal(0);
  });

  it("answers 503 when the object store goes away between two parts, and sweeps the parts when it is back", async () => {
    const { prisma } = stage.api.deps.postgres;
    const archive = await anArchive();
    await stage.uploaded(archive);
    const before = await stage.stateOf();
    const { large, request, answered, rest } = await stage.beginLargeUpload();
    await stage.minio.stop();
    try {
      request.end(rest);
      expect(await answered).to.equal(503);
    } finally {
      await stage.minio.start();
    }
    expect(await stage.stateOf()).to.deep.equal(before);
    await prisma.gameUpload.updateMany({ where: { gameId: stage.game.id }, data: { renewedAt: new Date(Date.now() - 61_000) } });
    await sweepUploads(stage.api.deps);
    expect(await stage.unfinishedUploads()).to.be.empty;
    await stage.uploaded(large);
  });

  it("checks what a digest announces, by either name and algorithm, and ignores others", async () => {
    const archive = await anArchive();
    const digestOf = (algorithm: string): string => createHash(algorithm).update(archive).digest("base64");
    const [sha256, sha512] = [digestOf("sha256"), digestOf("sha512")];
    const good = [
      { "content-digest": `sha-256=:${sha256}:` }, { "repr-digest": `sha-512=:${sha512}:` }, { "content-digest": `sha-512=:${sha512}:, sha-256=:${sha256}:` },
      { "content-digest": "md5=:AAAA:" },
    ];
    for (const headers of good) expect((await stage.upload(archive, headers)).status, JSON.stringify(headers)).to.equal(200);
    expectRefusal(await stage.upload(archive, { "repr-digest": `sha-512=:${sha512.replace(/^../, "AA")}:` }), 400, "checksum_mismatch");
    expectRefusal(await stage.upload(archive, { "content-digest": `sha-256=:${sha256}:`, "repr-digest": "sha-256=:AAAA:" }), 400, "invalid_request");
  });

  it("changes nothing when the game has changed while its archive was on its way, if the client says what it means", async () => {
    const archive = await anArchive();
    const game = `/api/partners/games/${stage.game.slug}`;
    const etag = (await stage.client.get(game)).headers.get("etag")!;
    const { request, answered } = await stage.beginUpload(archive, stage.api.url, { "if-match": etag });
    expect((await stage.client.patch(game, { title: "Another" })).status).to.equal(200);
    request.end(archive.subarray(100));
    expect(await answered).to.equal(412);
    expect(await stage.stateOf()).to.include({ status: "pending_upload", currentVersionId: null });
    const next = (await stage.client.get(game)).headers.get("etag")!;
    expect((await stage.upload(archive, { "if-match": next })).status).to.equal(200);
  });

  it("counts ten uploads an hour per partner, failed ones too, whatever the key", async () => {
    for (let count = 0; count < 10; count++) expectRefusal(await stage.upload(Buffer.from("no gzip")), 422, "invalid_archive");
    const refused = await stage.upload(await anArchive());
    expectRefusal(refused, 429, "rate_limited");
    const { key, keyId, secretHash } = createPartnerKey();
    await stage.api.deps.postgres.prisma.partnerKey.create({ data: { id: keyId, partnerId: stage.partner.id, secretHash } });
    expectRefusal(await stage.api.asPartner({ key }).put(stage.path, await anArchive(), { "content-type": "application/gzip" }), 429, "rate_limited");
    expect(Number(refused.headers.get("retry-after"))).to.be.within(1, 3600);
    expect((await stage.client.get("/api/partners/games")).status).to.equal(200);
  });

  it("is cut when the game is deleted meanwhile, and does not bring it back", async () => {
    const archive = await anArchive();
    const slow = await stage.beginUpload(archive);
    expect((await stage.client.delete(`/api/partners/games/${stage.game.slug}`)).status).to.equal(204);
    slow.request.end(archive.subarray(100));
    expect(await slow.answered).to.equal(404);
    expect(await stage.stateOf()).to.include({ currentVersionId: null });
    expect(await stage.objectKeys()).to.be.empty;
  });

  it("answers 503 while the object store is away, and serves the old version", async () => {
    const archive = await anArchive();
    await stage.uploaded(archive);
    const before = await stage.stateOf();
    await stage.minio.stop();
    try {
      const response = await stage.upload(await anArchive());
      expectRefusal(response, 503, "unavailable");
      expect(response.headers.get("retry-after")).not.to.be.null;
    } finally {
      await stage.minio.start();
    }
    expect(await stage.stateOf()).to.deep.equal(before);
    expect((await stage.operator.cache(stage.game.slug))!.spec.source.sha256).to.equal(sha256Of(archive));
  });

  it("tells the cache later when the cluster could not be told at once", async () => {
    const archive = await anArchive();
    await stage.uploaded(archive);
    await stage.operator.caches.delete({ name: stage.game.slug, namespace: stage.api.kube!.sessionsNamespace });
    await stage.api.deps.postgres.prisma.game.update({ where: { id: stage.game.id }, data: { cacheRevision: { increment: 1 } } });
    const cache = await eventually(() => stage.operator.cache(stage.game.slug), { what: "the relay to apply the cache" });
    expect(cache.spec.source.sha256).to.equal(sha256Of(archive));
  });
});

import { expect } from "chai";
import { createHash, randomBytes } from "node:crypto";
import { Readable } from "node:stream";
import { gzipSync } from "node:zlib";
import { packTar } from "modern-tar";
import { createPartnerKey } from "#api/partners/keyFormat.ts";
import { sweepVersions } from "#api/games/sweepVersions.ts";
import { sweepUploads } from "#api/games/upload/uploadLease.ts";
import { aUser } from "#test/factories/catalog.ts";
import { expectErrorResponse } from "#test/support/http/apiClient.ts";
import { ApiProcess } from "#test/support/http/apiProcess.ts";
import { anArchive, sha256Of } from "#test/support/fixtures/archives.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { UploadFixture } from "#test/support/fixtures/uploadFixture.ts";

describe("PUT /api/partners/games/:slug/upload", function () {
  this.timeout(180_000);
  let fixture: UploadFixture;

  before(async () => {
    fixture = await UploadFixture.start({
      UPLOAD_MAX_BYTES: String(400 * 2 ** 20),
      GAME_VERSIONS_KEPT: "1",
    });
  });
  beforeEach(() => fixture.newGame());
  after(() => fixture.stop());

  it("makes the archive the game's current version everywhere", async () => {
    const archive = await anArchive();
    const sha256 = sha256Of(archive);
    const response = await fixture.upload(archive);
    expect(response.status, response.text).to.equal(200);
    expect(response.json()).to.deep.equal({
      status: "ok",
      slug: fixture.game.slug,
      size: archive.length,
      checksum: `sha256:${sha256}`,
      versionId: (await fixture.stateOf()).currentVersionId,
      isCurrent: true,
    });
    expect(response.headers.get("repr-digest")).to.equal(
      `sha-256=:${Buffer.from(sha256, "hex").toString("base64")}:`,
    );
    expect(await fixture.stateOf()).to.include({ status: "active" });
    const { spec } = (await fixture.operator.cache(fixture.game.slug))!;
    const stored = await fixture.minio.client.getObject(spec.source.bucket, spec.source.key);
    expect(sha256Of(Buffer.concat(await stored.toArray()))).to.equal(sha256);
    expect(spec.source).to.include({ sha256, sizeBytes: archive.length, unpackedSizeBytes: 2009 });
    const version = await fixture.api.deps.postgres.prisma.gameVersion.findFirstOrThrow({
      where: { gameId: fixture.game.id },
    });
    expect(version).to.deep.include({ rootFiles: ["play.sh"], rootDirectories: ["engine"] });
    const sync = await fixture.client.get(`/api/partners/games/${fixture.game.slug}/sync`);
    expect(sync.json()).to.include({ cachedOn: 0 });
  });

  it("accepts an archive that begins with a large file of zeros if the rest is large enough, whether or not its size is announced", async () => {
    const noise = randomBytes(2 ** 20);
    const zeros = Buffer.alloc(2 ** 27);
    const tar = await packTar([
      { header: { name: "engine/zeros", size: zeros.length }, body: zeros },
      { header: { name: "engine/noise", size: noise.length }, body: noise },
      { header: { name: "play.sh", size: 9 }, body: "#!/bin/sh" },
    ]);
    const archive = gzipSync(tar);
    await fixture.uploaded(archive);
    const unannounced = await fixture.upload(Readable.toWeb(Readable.from([archive], { objectMode: false })));
    expect(unannounced.status, unannounced.text).to.equal(200);
  });

  it("accepts the same archive again without changing anything", async () => {
    const archive = await anArchive();
    await fixture.uploaded(archive);
    const [before, cache] = [await fixture.stateOf(), await fixture.operator.cache(fixture.game.slug)];
    const again = await fixture.upload(archive, {
      "content-type": "application/x-gzip",
      "upload-complete": "?1",
    });
    expect(again.status).to.equal(200);
    expect(again.json()).to.include({ checksum: `sha256:${sha256Of(archive)}` });
    expect(await fixture.stateOf()).to.deep.equal(before);
    expect((await fixture.operator.cache(fixture.game.slug))!.metadata.resourceVersion).to.equal(
      cache!.metadata.resourceVersion,
    );
    expect(await fixture.objectKeys()).to.have.length(1);
    expect(await fixture.unfinishedUploads()).to.be.empty;
  });

  it("switches to a new version while sessions play the old one, which is kept until they end", async () => {
    const [old, next] = [await anArchive(), await anArchive()];
    await fixture.uploaded(old);
    const player = fixture.api.as(await aUser(fixture.api.deps));
    const { sessionId } = (await player.post("/api/game/launch", { gameSlug: fixture.game.slug })).json<{
      sessionId: string;
    }>();
    await fixture.uploaded(next);
    const { spec } = (await fixture.operator.cache(fixture.game.slug))!;
    expect(spec.source.sha256).to.equal(sha256Of(next));
    expect(spec.previousSources!.map(({ sha256 }) => sha256)).to.deep.equal([sha256Of(old)]);
    expect((await fixture.operator.session(sessionId)).spec.contentDigest).to.equal(sha256Of(old));
    const { prisma } = fixture.api.deps.postgres;
    await prisma.gameVersion.updateMany({
      where: { gameId: fixture.game.id, supersededAt: { not: null } },
      data: { supersededAt: new Date(Date.now() - 3600_000) },
    });
    await sweepVersions(fixture.api.deps);
    expect(await fixture.objectKeys()).to.have.length(2);
    await fixture.operator.finish(sessionId);
    await eventually(
      async () => (await prisma.gameSession.findUniqueOrThrow({ where: { id: sessionId } })).endedAt !== null,
    );
    await sweepVersions(fixture.api.deps);
    expect(await fixture.objectKeys()).to.deep.equal([spec.source.key]);
    await eventually(
      async () =>
        ((await fixture.operator.cache(fixture.game.slug))!.spec.previousSources ?? []).length === 0,
      { what: "the cache to forget the old version" },
    );
  });

  it("stores one of two concurrent uploads completely", async () => {
    const archive = await anArchive();
    const slow = await fixture.beginUpload(archive);
    const second = await fixture.upload(await anArchive());
    expectErrorResponse(second, 409, "upload_in_progress");
    slow.request.end(archive.subarray(100));
    expect(await slow.response).to.equal(200);
    expect((await fixture.operator.cache(fixture.game.slug))!.spec.source.sha256).to.equal(sha256Of(archive));
  });

  it("frees the place of an upload whose process died, and removes its parts", async () => {
    const { prisma } = fixture.api.deps.postgres;
    const objectKey = `archives/${fixture.game.id}/dead.tar.gz`;
    const uploadId = await fixture.minio.client.initiateNewMultipartUpload(
      fixture.minio.bucket,
      objectKey,
      {},
    );
    const part = {
      bucketName: fixture.minio.bucket,
      objectName: objectKey,
      uploadID: uploadId,
      partNumber: 1,
      headers: { "content-length": "4" },
    };
    await fixture.minio.client.uploadPart(part, Buffer.from("dead"));
    await prisma.gameUpload.create({
      data: {
        id: `dead-${fixture.game.id}`,
        gameId: fixture.game.id,
        objectKey,
        renewedAt: new Date(Date.now() - 61_000),
      },
    });
    await fixture.uploaded(await anArchive());
    await sweepUploads(fixture.api.deps);
    expect(await prisma.gameUpload.count({ where: { gameId: fixture.game.id } })).to.equal(0);
    await eventually(
      async () => (await fixture.minio.client.findUploadId(fixture.minio.bucket, objectKey)) === undefined,
    );
  });

  it("leaves nothing of an upload whose process is killed, and serves the old version in the meantime", async () => {
    const { prisma } = fixture.api.deps.postgres;
    await fixture.uploaded(await anArchive());
    const before = await fixture.stateOf();
    const process = await ApiProcess.beside(fixture.api);
    const noise = randomBytes(20 * 2 ** 20);
    const archive = await anArchive({
      header: { name: "engine/noise.bin", size: noise.length },
      body: noise,
    });
    const { request } = await fixture.beginUpload(archive, process.url);
    request.on("error", () => undefined);
    request.write(archive.subarray(100, -1000));
    await eventually(async () => (await fixture.storedBytes()) > 0, { what: "a part to be stored" });
    await process.stop("SIGKILL");
    request.destroy();
    expect(await fixture.stateOf()).to.deep.equal(before);
    expect(await fixture.unfinishedUploads()).to.have.length(1);
    await prisma.gameUpload.updateMany({
      where: { gameId: fixture.game.id },
      data: { renewedAt: new Date(Date.now() - 61_000) },
    });
    await fixture.uploaded(archive);
    await sweepUploads(fixture.api.deps);
    expect(await fixture.unfinishedUploads()).to.be.empty;
    expect(await prisma.gameUpload.count({ where: { gameId: fixture.game.id } })).to.equal(0);
  });

  it("returns 503 when the object store fails between two parts, and removes the parts when it is back", async () => {
    const { prisma } = fixture.api.deps.postgres;
    const archive = await anArchive();
    await fixture.uploaded(archive);
    const before = await fixture.stateOf();
    const { large, request, response, rest } = await fixture.beginLargeUpload();
    await fixture.minio.stop();
    try {
      request.end(rest);
      expect(await response).to.equal(503);
    } finally {
      await fixture.minio.start();
    }
    expect(await fixture.stateOf()).to.deep.equal(before);
    await prisma.gameUpload.updateMany({
      where: { gameId: fixture.game.id },
      data: { renewedAt: new Date(Date.now() - 61_000) },
    });
    await sweepUploads(fixture.api.deps);
    expect(await fixture.unfinishedUploads()).to.be.empty;
    await fixture.uploaded(large);
  });

  it("checks announced digests under both header names and algorithms, and ignores others", async () => {
    const archive = await anArchive();
    const digestOf = (algorithm: string): string => createHash(algorithm).update(archive).digest("base64");
    const [sha256, sha512] = [digestOf("sha256"), digestOf("sha512")];
    const good = [
      { "content-digest": `sha-256=:${sha256}:` },
      { "repr-digest": `sha-512=:${sha512}:` },
      { "content-digest": `sha-512=:${sha512}:, sha-256=:${sha256}:` },
      { "content-digest": "md5=:AAAA:" },
    ];
    for (const headers of good)
      expect((await fixture.upload(archive, headers)).status, JSON.stringify(headers)).to.equal(200);
    expectErrorResponse(
      await fixture.upload(archive, { "repr-digest": `sha-512=:${sha512.replace(/^../, "AA")}:` }),
      400,
      "checksum_mismatch",
    );
    expectErrorResponse(
      await fixture.upload(archive, {
        "content-digest": `sha-256=:${sha256}:`,
        "repr-digest": "sha-256=:AAAA:",
      }),
      400,
      "invalid_request",
    );
  });

  it("changes nothing when the game changed during an upload with If-Match", async () => {
    const archive = await anArchive();
    const game = `/api/partners/games/${fixture.game.slug}`;
    const etag = (await fixture.client.get(game)).headers.get("etag")!;
    const { request, response } = await fixture.beginUpload(archive, fixture.api.url, { "if-match": etag });
    expect((await fixture.client.patch(game, { title: "Another" })).status).to.equal(200);
    request.end(archive.subarray(100));
    expect(await response).to.equal(412);
    expect(await fixture.stateOf()).to.include({ status: "pending_upload", currentVersionId: null });
    const next = (await fixture.client.get(game)).headers.get("etag")!;
    expect((await fixture.upload(archive, { "if-match": next })).status).to.equal(200);
  });

  it("allows ten uploads an hour per partner, including failed ones, whatever the key", async () => {
    const archive = await anArchive();
    const digest = `sha-256=:${Buffer.alloc(32).toString("base64")}:`;
    for (let count = 0; count < 10; count++)
      expectErrorResponse(
        await fixture.upload(archive, { "content-digest": digest }),
        400,
        "checksum_mismatch",
      );
    const refused = await fixture.upload(archive);
    expectErrorResponse(refused, 429, "rate_limited");
    const { key, keyId, secretHash } = createPartnerKey();
    await fixture.api.deps.postgres.prisma.partnerKey.create({
      data: { id: keyId, partnerId: fixture.partner.id, secretHash },
    });
    expectErrorResponse(
      await fixture.api
        .asPartner({ key })
        .put(fixture.path, await anArchive(), { "content-type": "application/gzip" }),
      429,
      "rate_limited",
    );
    expect(Number(refused.headers.get("retry-after"))).to.be.within(1, 3600);
    expect((await fixture.client.get("/api/partners/games")).status).to.equal(200);
  });

  it("is cancelled when the game is deleted, and does not restore it", async () => {
    const archive = await anArchive();
    const slow = await fixture.beginUpload(archive);
    expect((await fixture.client.delete(`/api/partners/games/${fixture.game.slug}`)).status).to.equal(204);
    slow.request.end(archive.subarray(100));
    expect(await slow.response).to.equal(404);
    expect(await fixture.stateOf()).to.include({ currentVersionId: null });
    expect(await fixture.objectKeys()).to.be.empty;
  });

  const revokeKey = (): Promise<unknown> =>
    fixture.api.deps.postgres.prisma.partnerKey.updateMany({
      where: { partnerId: fixture.partner.id },
      data: { revokedAt: new Date() },
    });
  const suspend = (): Promise<unknown> =>
    fixture.api.deps.postgres.prisma.partner.update({
      where: { id: fixture.partner.id },
      data: { suspendedAt: new Date() },
    });
  const accessEnds = [
    ["key is revoked", 401, revokeKey],
    ["partner is suspended", 403, suspend],
  ] as const;
  for (const [what, status, end] of accessEnds) {
    it(`refuses to make the archive current when the ${what} before its end`, async () => {
      const archive = await anArchive();
      const { request, response } = await fixture.beginUpload(archive);
      await end();
      request.end(archive.subarray(100));
      expect(await response).to.equal(status);
      expect(await fixture.stateOf()).to.include({ status: "pending_upload", currentVersionId: null });
      expect(await fixture.objectKeys()).to.be.empty;
    });
  }

  it("stops when the key is revoked, and removes its parts", async () => {
    const process = await ApiProcess.beside(fixture.api, { UPLOAD_IDLE_MS: "4000" });
    try {
      const { request, response } = await fixture.beginLargeUpload(process.url);
      await revokeKey();
      expect(await response).to.equal(401);
      request.destroy();
      expect(await fixture.stateOf()).to.include({ status: "pending_upload", currentVersionId: null });
      expect(await fixture.unfinishedUploads()).to.be.empty;
    } finally {
      await process.stop();
    }
  });

  it("returns 503 while the object store is unavailable, and serves the old version", async () => {
    const archive = await anArchive();
    await fixture.uploaded(archive);
    const before = await fixture.stateOf();
    await fixture.minio.stop();
    try {
      const response = await fixture.upload(await anArchive());
      expectErrorResponse(response, 503, "unavailable");
      expect(response.headers.get("retry-after")).not.to.be.null;
    } finally {
      await fixture.minio.start();
    }
    expect(await fixture.stateOf()).to.deep.equal(before);
    expect((await fixture.operator.cache(fixture.game.slug))!.spec.source.sha256).to.equal(sha256Of(archive));
  });

  it("updates the GameCache later if the cluster was unavailable", async () => {
    const archive = await anArchive();
    await fixture.uploaded(archive);
    await fixture.operator.caches.delete({
      name: fixture.game.slug,
      namespace: fixture.api.kube!.sessionsNamespace,
    });
    await fixture.api.deps.postgres.prisma.game.update({
      where: { id: fixture.game.id },
      data: { cacheRevision: { increment: 1 } },
    });
    const cache = await eventually(() => fixture.operator.cache(fixture.game.slug), {
      what: "the relay to apply the cache",
    });
    expect(cache.spec.source.sha256).to.equal(sha256Of(archive));
  });

  it("is restored with its game within 90 days of the deletion, and removed after them", async () => {
    const archive = await anArchive();
    await fixture.uploaded(archive);
    const {
      game: { id, slug },
      operator,
      api: { deps },
      client,
    } = fixture;
    const [path, before] = [`/api/partners/games/${slug}`, await fixture.stateOf()];
    const passDays = async (days: number): Promise<void> => {
      const at = new Date(Date.now() - days * 86_400_000);
      await deps.postgres.prisma.game.update({ where: { id }, data: { deletedAt: at } });
      await deps.postgres.prisma.gameVersion.updateMany({
        where: { gameId: id },
        data: { supersededAt: at },
      });
      await sweepVersions(deps);
    };
    expect((await client.delete(path)).status).to.equal(204);
    await eventually(async () => (await operator.cache(slug)) === undefined, { what: "the cache to go" });
    await passDays(89);
    const restored = await client.post(`${path}/restore`);
    expect(restored.status, restored.text).to.equal(200);
    expect(restored.json()).to.include({ slug, status: "active" });
    expect(await fixture.stateOf()).to.include({
      status: "active",
      currentVersionId: before.currentVersionId,
    });
    expect(
      (await eventually(() => operator.cache(slug), { what: "the cache to come back" })).spec.source.sha256,
    ).to.equal(sha256Of(archive));
    await sweepVersions(deps);
    expect(await fixture.objectKeys()).to.have.length(1);
    expect((await client.post(`${path}/restore`)).status, "of a game that is there").to.equal(200);

    expect((await client.delete(path)).status).to.equal(204);
    await passDays(91);
    expect(await fixture.objectKeys()).to.be.empty;
    expectErrorResponse(await client.post(`${path}/restore`), 404, "not_found");
  });
});

import { expect } from "chai";
import { execFile } from "node:child_process";
import { request as httpRequest } from "node:http";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { sweepUploads, sweepVersions } from "../../../api/src/recorder/sweeper.ts";
import { aGame, aPartner, aUser, type TestGame, type TestPartner } from "../../factories/catalog.ts";
import { TestApi } from "../../support/api.ts";
import { expectRefusal, type ApiClient, type ApiResponse } from "../../support/apiClient.ts";
import { anArchive, archivedGame, sha256Of } from "../../support/archives.ts";
import { eventually } from "../../support/eventually.ts";
import { operatorOf, type PlayedOperator } from "../../support/playedOperator.ts";

const run = promisify(execFile);
const sender = fileURLToPath(new URL("../../support/sendArchive.ts", import.meta.url));
const gzip = { "content-type": "application/gzip" };

describe("PUT /api/partners/games/:slug/upload", function () {
  this.timeout(180_000);
  let api: TestApi;
  let operator: PlayedOperator;
  let partner: TestPartner;
  let client: ApiClient;
  let game: TestGame;

  before(async () => {
    api = await TestApi.start({ kube: true, minio: true, env: { UPLOAD_MAX_BYTES: String(400 * 2 ** 20) } });
    operator = operatorOf(api);
    await operator.addNode(100);
  });
  beforeEach(async () => {
    partner = await aPartner(api.deps);
    client = api.asPartner(partner);
    game = await aGame(api.deps, { partnerId: partner.id, status: "pending_upload", ...archivedGame });
  });
  after(async () => {
    await operator.removeNodes();
    await api.stop();
  });

  const addressOf = ({ slug }: { slug: string }): string => `/api/partners/games/${slug}/upload`;

  function upload(body: unknown, headers: Record<string, string> = {}): Promise<ApiResponse> {
    return client.put(addressOf(game), body, { ...gzip, ...headers });
  }

  async function uploaded(archive: Buffer): Promise<void> {
    const response = await upload(archive);
    expect(response.status, response.text).to.equal(200);
  }

  async function objectKeys(): Promise<string[]> {
    const keys: string[] = [];
    for await (const item of api.minio!.client.listObjectsV2(api.minio!.bucket, `archives/${game.id}/`, true)) keys.push((item as { name: string }).name);
    return keys;
  }

  async function unfinishedUploads(): Promise<string[]> {
    const { uploads } = await api.minio!.client.listIncompleteUploadsQuery(api.minio!.bucket, "", "", "", "");
    return uploads.map(({ key }) => key).filter((key) => key.includes(game.id));
  }

  async function stateOf() {
    const { status, currentVersionId, deletedAt } = await api.deps.postgres.prisma.game.findUniqueOrThrow({ where: { id: game.id } });
    return { status, currentVersionId, deletedAt };
  }

  it("makes the archive the game's current version everywhere", async () => {
    const archive = await anArchive();
    const sha256 = sha256Of(archive);
    const response = await upload(archive);
    expect(response.status, response.text).to.equal(200);
    expect(response.json()).to.deep.equal({ status: "ok", slug: game.slug, size: archive.length, checksum: `sha256:${sha256}` });
    expect(response.headers.get("repr-digest")).to.equal(`sha-256=:${Buffer.from(sha256, "hex").toString("base64")}:`);
    expect(await stateOf()).to.include({ status: "active" });
    const { spec } = (await operator.cache(game.slug))!;
    const stored = await api.minio!.client.getObject(spec.source.bucket, spec.source.key);
    expect(sha256Of(Buffer.concat(await stored.toArray()))).to.equal(sha256);
    expect(spec.source).to.include({ sha256, sizeBytes: archive.length, unpackedSizeBytes: 2009 });
    const version = await api.deps.postgres.prisma.gameVersion.findFirstOrThrow({ where: { gameId: game.id } });
    expect(version).to.deep.include({ rootFiles: ["play.sh"], rootDirectories: ["engine"] });
    const sync = await client.get(`/api/partners/games/${game.slug}/sync`);
    expect(sync.json()).to.include({ cachedOn: 0 });
  });

  it("takes the same archive again without doing anything", async () => {
    const archive = await anArchive();
    await uploaded(archive);
    const [before, cache] = [await stateOf(), await operator.cache(game.slug)];
    const again = await upload(archive, { "content-type": "application/x-gzip" });
    expect(again.status).to.equal(200);
    expect(again.json()).to.include({ checksum: `sha256:${sha256Of(archive)}` });
    expect(await stateOf()).to.deep.equal(before);
    expect((await operator.cache(game.slug))!.metadata.resourceVersion).to.equal(cache!.metadata.resourceVersion);
    expect(await objectKeys()).to.have.length(1);
    expect(await unfinishedUploads()).to.be.empty;
  });

  it("switches to a new version while sessions play the old one, and keeps that until they end", async () => {
    const [old, next] = [await anArchive(), await anArchive()];
    await uploaded(old);
    const player = api.as(await aUser(api.deps));
    const { sessionId } = (await player.post("/api/game/launch", { gameSlug: game.slug })).json<{ sessionId: string }>();
    await uploaded(next);
    const { spec } = (await operator.cache(game.slug))!;
    expect(spec.source.sha256).to.equal(sha256Of(next));
    expect(spec.previousSources!.map(({ sha256 }) => sha256)).to.deep.equal([sha256Of(old)]);
    expect((await operator.session(sessionId)).spec.contentDigest).to.equal(sha256Of(old));
    const { prisma } = api.deps.postgres;
    await prisma.gameVersion.updateMany({ where: { gameId: game.id, supersededAt: { not: null } }, data: { supersededAt: new Date(Date.now() - 3600_000) } });
    await sweepVersions(api.deps);
    expect(await objectKeys()).to.have.length(2);
    await operator.finish(sessionId);
    await eventually(async () => (await prisma.gameSession.findUniqueOrThrow({ where: { id: sessionId } })).endedAt !== null);
    await sweepVersions(api.deps);
    expect(await objectKeys()).to.deep.equal([spec.source.key]);
    await eventually(async () => ((await operator.cache(game.slug))!.spec.previousSources ?? []).length === 0, { what: "the cache to forget the old version" });
  });

  it("lets one of two uploads at once through, whole", async () => {
    const archive = await anArchive();
    const slow = httpRequest(api.url + addressOf(game), {
      method: "PUT", headers: { authorization: `Bearer ${partner.key}`, "content-length": String(archive.length), ...gzip },
    });
    const answered = new Promise<number | undefined>((resolve, reject) => {
      slow.once("response", (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      slow.once("error", reject);
    });
    slow.write(archive.subarray(0, 100));
    await eventually(async () => await api.deps.postgres.prisma.gameUpload.count({ where: { gameId: game.id } }) === 1);
    const second = await upload(await anArchive());
    expectRefusal(second, 409, "upload_in_progress");
    slow.end(archive.subarray(100));
    expect(await answered).to.equal(200);
    expect((await operator.cache(game.slug))!.spec.source.sha256).to.equal(sha256Of(archive));
  });

  it("frees the place of an upload that died with its process, and removes its remains", async () => {
    const { prisma } = api.deps.postgres;
    const objectKey = `archives/${game.id}/dead.tar.gz`;
    const uploadId = await api.minio!.client.initiateNewMultipartUpload(api.minio!.bucket, objectKey, {});
    const part = { bucketName: api.minio!.bucket, objectName: objectKey, uploadID: uploadId, partNumber: 1, headers: { "content-length": "4" } };
    await api.minio!.client.uploadPart(part, Buffer.from("dead"));
    await prisma.gameUpload.create({ data: { id: `dead-${game.id}`, gameId: game.id, objectKey, renewedAt: new Date(Date.now() - 61_000) } });
    await uploaded(await anArchive());
    await sweepUploads(api.deps);
    expect(await prisma.gameUpload.count({ where: { gameId: game.id } })).to.equal(0);
    await eventually(async () => (await api.minio!.client.findUploadId(api.minio!.bucket, objectKey)) === undefined);
  });

  it("counts ten uploads an hour per partner, failed ones too, whatever the key", async () => {
    for (let count = 0; count < 10; count++) expectRefusal(await upload(Buffer.from("no gzip")), 422, "invalid_archive");
    const refused = await upload(await anArchive());
    expectRefusal(refused, 429, "rate_limited");
    expect(Number(refused.headers.get("retry-after"))).to.be.within(1, 3600);
    expect((await client.get("/api/partners/games")).status).to.equal(200);
  });

  it("is cut when the game is deleted meanwhile, and does not bring it back", async () => {
    const archive = await anArchive();
    const slow = httpRequest(api.url + addressOf(game), {
      method: "PUT", headers: { authorization: `Bearer ${partner.key}`, "content-length": String(archive.length), ...gzip },
    });
    const answered = new Promise<number | undefined>((resolve, reject) => {
      slow.once("response", (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      slow.once("error", reject);
    });
    slow.write(archive.subarray(0, 100));
    await eventually(async () => await api.deps.postgres.prisma.gameUpload.count({ where: { gameId: game.id } }) === 1);
    expect((await client.delete(`/api/partners/games/${game.slug}`)).status).to.equal(204);
    slow.end(archive.subarray(100));
    expect(await answered).to.equal(404);
    expect(await stateOf()).to.include({ currentVersionId: null });
    expect(await objectKeys()).to.be.empty;
  });

  it("answers 503 while the object store is away, and serves the old version", async () => {
    const archive = await anArchive();
    await uploaded(archive);
    const before = await stateOf();
    await api.minio!.stop();
    try {
      const response = await upload(await anArchive());
      expectRefusal(response, 503, "unavailable");
      expect(response.headers.get("retry-after")).not.to.be.null;
    } finally {
      await api.minio!.start();
    }
    expect(await stateOf()).to.deep.equal(before);
    expect((await operator.cache(game.slug))!.spec.source.sha256).to.equal(sha256Of(archive));
  });

  it("tells the cache later when the cluster could not be told at once", async () => {
    const archive = await anArchive();
    await uploaded(archive);
    await operator.caches.delete({ name: game.slug, namespace: api.kube!.sessionsNamespace });
    await api.deps.postgres.prisma.game.update({ where: { id: game.id }, data: { cacheRevision: { increment: 1 } } });
    const cache = await eventually(() => operator.cache(game.slug), { what: "the relay to apply the cache" });
    expect(cache.spec.source.sha256).to.equal(sha256Of(archive));
  });

  it("takes a large archive in constant memory", async () => {
    const bytes = 300 * 2 ** 20;
    await uploaded(await anArchive());
    const before = process.memoryUsage().rss;
    let peak = before;
    const sampler = setInterval(() => (peak = Math.max(peak, process.memoryUsage().rss)), 20);
    // Sent from another process, whose memory is not ours.
    const { stdout } = await run(process.execPath, [sender, api.url + addressOf(game), partner.key, String(bytes)], { env: {} });
    clearInterval(sampler);
    expect((JSON.parse(stdout) as { size: number }).size).to.be.above(bytes);
    // The garbage of a run's earlier tests is in it, too; what must not be is the archive.
    expect((peak - before) / 2 ** 20).to.be.below(150);
  });
});

import { expect } from "chai";
import { createHash, randomBytes } from "node:crypto";
import { sweepResumableUploads } from "#api/games/resumable/endUpload.ts";
import { limits } from "#contracts/limits.ts";
import { aPartner } from "#test/factories/catalog.ts";
import { hostileEntries } from "#test/factories/hostileArchives.ts";
import { aTarGz } from "#test/factories/tarArchive.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { anArchive, sha256Of } from "#test/support/fixtures/archives.ts";
import { UploadFixture } from "#test/support/fixtures/uploadFixture.ts";
import { UploadInChunks } from "#test/support/fixtures/uploadInChunks.ts";
import { expectErrorResponse } from "#test/support/http/apiClient.ts";

const mebibyte = 2 ** 20;
const hourly = 100;

describe("uploads in chunks", function () {
  this.timeout(120_000);
  let fixture: UploadFixture;
  /** More than four parts of the object store. */
  let large: Buffer;

  before(async () => {
    fixture = await UploadFixture.start({
      UPLOAD_MAX_BYTES: String(64 * mebibyte),
      PARTNER_UPLOADS_PER_HOUR: String(hourly),
    });
    const noise = randomBytes(22 * mebibyte);
    large = await anArchive({ header: { name: "engine/noise.bin", size: noise.length }, body: noise });
  });
  beforeEach(() => fixture.newGame());
  after(() => fixture.stop());

  function create(length: number, metadata: Record<string, string> = {}): Promise<UploadInChunks> {
    return UploadInChunks.create(fixture.client, fixture.game.slug, length, metadata);
  }

  async function send(upload: UploadInChunks, archive: Buffer, chunkBytes: number): Promise<void> {
    for (let offset = 0; offset < archive.length; offset += chunkBytes)
      await upload.appended(offset, archive.subarray(offset, offset + chunkBytes));
  }

  /** Keys of everything in the store that belongs to the game's uploads. */
  async function traces(): Promise<string[]> {
    return [...(await fixture.objectKeys()), ...(await fixture.unfinishedUploads())];
  }

  async function expectTraces(...keys: string[]): Promise<void> {
    await eventually(async () => JSON.stringify(await traces()) === JSON.stringify(keys), {
      what: `nothing in the store but ${keys.join(", ")}`,
    });
  }

  async function expectCurrent(archive: Buffer): Promise<void> {
    const { spec } = await eventually(
      async () => {
        const cache = await fixture.operator.cache(fixture.game.slug);
        return cache?.spec.source.sha256 === sha256Of(archive) ? cache : undefined;
      },
      { what: "the archive to be current" },
    );
    const stored = await fixture.minio.client.getObject(spec.source.bucket, spec.source.key);
    expect(sha256Of(Buffer.concat(await stored.toArray()))).to.equal(sha256Of(archive));
  }

  for (const [what, chunkBytes] of [
    ["smaller than a part", 3 * mebibyte + 17],
    ["of exactly a part", 5 * mebibyte],
    ["larger than several parts", 11 * mebibyte + 1],
    ["as large as the archive", 64 * mebibyte],
  ] as const) {
    it(`become the game's current version, with chunks ${what}`, async () => {
      const upload = await create(large.length);
      await send(upload, large, chunkBytes);
      const { state, result, offset } = await upload.outcome();
      expect({ state, offset }).to.deep.equal({ state: "done", offset: large.length });
      expect(result).to.deep.equal({
        status: "ok",
        slug: fixture.game.slug,
        size: large.length,
        checksum: `sha256:${sha256Of(large)}`,
        versionId: upload.id,
        isCurrent: true,
      });
      await expectCurrent(large);
      await expectTraces(`archives/${fixture.game.id}/${upload.id}.tar.gz`);
    });
  }

  it("accept chunks of a few bytes, and an archive whose length is whole parts", async () => {
    const archive = await anArchive();
    const small = await create(archive.length);
    await send(small, archive, 500);
    expect(await small.outcome()).to.include({ state: "done" });
    const wholeParts = await create(10 * mebibyte);
    await send(wholeParts, large.subarray(0, 10 * mebibyte), 5 * mebibyte);
    expect(await wholeParts.outcome()).to.include({ state: "refused" });
  });

  it("take label, notes, channel and autoActivate from the metadata, and return it", async () => {
    const archive = await anArchive();
    const metadata = { filename: "game.tar.gz", label: "1.4.2 ü", notes: "Two\nlines", channel: "beta" };
    const upload = await create(archive.length, metadata);
    const pairs = (await upload.head()).headers.get("upload-metadata")?.split(",");
    expect(pairs).to.include(`label ${Buffer.from("1.4.2 ü").toString("base64")}`);
    await send(upload, archive, archive.length);
    expect((await upload.outcome()).result).to.include({ isCurrent: false });
    const { versions } = (
      await fixture.client.get(`/api/partners/games/${fixture.game.slug}/versions`)
    ).json<{ versions: unknown[] }>();
    expect(versions[0]).to.deep.include({
      id: upload.id,
      label: "1.4.2 ü",
      notes: "Two\nlines",
      channels: ["beta"],
    });
    const waiting = await create(archive.length, { autoActivate: "false" });
    await send(waiting, archive, archive.length);
    expect((await waiting.outcome()).result).to.include({ isCurrent: false, versionId: upload.id });
    await expectTraces(`archives/${fixture.game.id}/${upload.id}.tar.gz`);
  });

  it("are described by OPTIONS and by the headers of every response", async () => {
    const upload = await create(1000);
    const options = await fixture.api.anonymous().request("OPTIONS", upload.path);
    expect(options.status).to.equal(204);
    expect(Object.fromEntries(options.headers)).to.include({
      "tus-resumable": "1.0.0",
      "tus-version": "1.0.0",
      "tus-extension": "creation,expiration,termination,checksum",
      "tus-checksum-algorithm": "sha1,sha256",
      "tus-max-size": String(64 * mebibyte),
    });
    const head = await upload.head();
    expect(head.status).to.equal(200);
    expect(Object.fromEntries(head.headers)).to.include({
      "tus-resumable": "1.0.0",
      "upload-offset": "0",
      "upload-length": "1000",
      "cache-control": "no-store",
    });
    const inHours = (Date.parse(head.headers.get("upload-expires") ?? "") - Date.now()) / 3_600_000;
    expect(inHours).to.be.within(23.9, 24.1);
    expect((await upload.show()).json()).to.deep.include({ id: upload.id, offset: 0, state: "receiving" });
    const refused = await fixture.api.anonymous().request("HEAD", upload.path);
    expect([refused.status, refused.headers.get("tus-resumable")]).to.deep.equal([401, "1.0.0"]);
  });

  it("refuse invalid creations", async () => {
    const path = `/api/partners/games/${fixture.game.slug}/uploads`;
    const cases: [status: number, code: string, headers: Record<string, string>][] = [
      [400, "invalid_request", {}],
      [400, "invalid_request", { "upload-length": "0" }],
      [400, "invalid_request", { "upload-length": "-1" }],
      [400, "invalid_request", { "upload-defer-length": "1" }],
      [413, "payload_too_large", { "upload-length": String(64 * mebibyte + 1) }],
      [412, "precondition_failed", { "upload-length": "10", "tus-resumable": "0.2.2" }],
      [400, "invalid_request", { "upload-length": "10", "upload-metadata": "label !" }],
      [400, "invalid_request", { "upload-length": "10", "upload-metadata": "label MQ==,label MQ==" }],
      [400, "invalid_request", { "upload-length": "10", "upload-metadata": "labels MQ==" }],
      [400, "invalid_request", { "upload-length": "10", "upload-metadata": "label /w==" }],
      [400, "invalid_request", { "upload-length": "10", "upload-metadata": "autoActivate MQ==" }],
    ];
    for (const [status, code, headers] of cases)
      expectErrorResponse(await fixture.client.post(path, undefined, headers), status, code);
    expect(await fixture.unfinishedUploads()).to.be.empty;
  });

  it("refuse chunks at another offset, of another type, beyond the end, and with another digest", async () => {
    const archive = await anArchive();
    const upload = await create(archive.length);
    await upload.appended(0, archive.subarray(0, 600));
    const rest = archive.subarray(600);
    const wrong = await upload.append(0, archive);
    expectErrorResponse(wrong, 409, "conflict");
    expect(wrong.headers.get("upload-offset")).to.equal("600");
    expectErrorResponse(await upload.append(300, archive), 409, "conflict");
    expectErrorResponse(
      await upload.append(600, rest, { "content-type": "application/gzip" }),
      415,
      "unsupported_media_type",
    );
    expectErrorResponse(await upload.append(600, Buffer.concat([rest, rest])), 413, "payload_too_large");
    const digest = (algorithm: string, bytes: Buffer): string =>
      `${algorithm} ${createHash(algorithm).update(bytes).digest("base64")}`;
    for (const algorithm of ["sha1", "sha256"]) {
      const other = { "upload-checksum": digest(algorithm, archive) };
      expectErrorResponse(await upload.append(600, rest, other), 460, "chunk_mismatch");
    }
    expectErrorResponse(
      await upload.append(600, rest, { "upload-checksum": "md5 AAAA" }),
      400,
      "invalid_request",
    );
    expect(await upload.offset()).to.equal(600);
    await upload.appended(600, rest.subarray(0, 100), {
      "upload-checksum": digest("sha1", rest.subarray(0, 100)),
    });
    await upload.appended(700, rest.subarray(100), {
      "upload-checksum": digest("sha256", rest.subarray(100)),
    });
    expect(await upload.outcome()).to.include({ state: "done" });
    expectErrorResponse(await upload.append(archive.length, Buffer.from("x")), 413, "payload_too_large");
  });

  it("discard a large chunk with another digest, and accept it again", async () => {
    const upload = await create(large.length);
    const digest = createHash("sha1").update(large).digest("base64");
    const damaged = Buffer.from(large);
    damaged[12 * mebibyte] = (damaged[12 * mebibyte] ?? 0) ^ 1;
    const headers = { "upload-checksum": `sha1 ${digest}` };
    expectErrorResponse(await upload.append(0, damaged, headers), 460, "chunk_mismatch");
    expect(await upload.offset()).to.equal(0);
    await upload.appended(0, large, headers);
    expect(await upload.outcome()).to.include({ state: "done" });
  });

  it("last for another day after the last chunk", async () => {
    const upload = await create(1000);
    await fixture.api.deps.postgres.prisma.resumableUpload.update({
      where: { id: upload.id },
      data: { expiresAt: new Date(Date.now() + 60_000) },
    });
    const { headers } = await upload.append(0, Buffer.alloc(1000));
    const inHours = (Date.parse(headers.get("upload-expires") ?? "") - Date.now()) / 3_600_000;
    expect(inHours).to.be.within(23.9, 24.1);
    await upload.outcome();
  });

  it("go to one of two requests at the same offset", async () => {
    const upload = await create(large.length);
    const responses = await Promise.all([upload.append(0, large), upload.append(0, large)]);
    expect(responses.map(({ status }) => status).toSorted()).to.deep.equal([204, 409]);
    expect(await upload.outcome()).to.include({ state: "done" });
    await expectCurrent(large);
  });

  it("are refused with the errors of an upload in one piece, and leave nothing", async () => {
    const [{ entries } = { entries: [] }] = hostileEntries;
    const archive = aTarGz([
      { name: "play.sh", body: "#!/bin/sh\n", mode: 0o755 },
      { name: "engine/" },
      ...entries,
    ]);
    for (const body of [archive, Buffer.from("no archive"), (await anArchive()).subarray(0, -9)]) {
      const inOnePiece = (await fixture.upload(body)).json();
      const upload = await create(body.length);
      await send(upload, body, 400);
      const { state, error } = await upload.outcome();
      expect(state).to.equal("refused");
      expect(error).to.deep.equal(inOnePiece);
      await expectTraces();
    }
    const last = await UploadInChunks.request(fixture.client, fixture.game.slug, 10);
    expect(last.headers.get("ratelimit"), "refused archives do not count").to.contain(
      `"upload";r=${hourly - 1}`,
    );
    await fixture.client.delete(last.headers.get("location") ?? "");
    await fixture.expectNoTrace();
  });

  it("are invisible to other partners and games", async () => {
    const upload = await create(1000);
    const other = upload.through(fixture.api.asPartner(await aPartner(fixture.api.deps)));
    for (const response of [await other.show(), await other.append(0, Buffer.alloc(10)), await other.end()])
      expectErrorResponse(response, 404, "not_found");
    const { slug } = fixture.game;
    await fixture.anotherGame();
    const elsewhere = await fixture.client.get(upload.path.replace(slug, fixture.game.slug));
    expectErrorResponse(elsewhere, 404, "not_found");
    expect(await upload.offset()).to.equal(0);
  });

  it("count once against the hourly limit, however many chunks they have", async () => {
    const archive = await anArchive();
    const upload = await create(archive.length);
    await send(upload, archive, 200);
    await upload.outcome();
    const next = await UploadInChunks.request(fixture.client, fixture.game.slug, 10);
    expect(next.headers.get("ratelimit")).to.contain(`"upload";r=${hourly - 2}`);
    const { status, headers } = await upload.append(0, Buffer.alloc(1));
    expect(status).to.equal(409);
    expect(headers.get("ratelimit")).to.match(/^"uploadChunk";r=\d+;t=\d+$/);
  });

  it("are limited in number while they are unfinished", async () => {
    const uploads: UploadInChunks[] = [];
    for (let count = 0; count < limits.partner.unfinishedUploads; count += 1) uploads.push(await create(10));
    const refused = await UploadInChunks.request(fixture.client, fixture.game.slug, 10);
    expectErrorResponse(refused, 409, "upload_in_progress");
    const { details } = refused.json<{ details: { path: string }[] }>();
    expect(details.map(({ path }) => path)).to.deep.equal(uploads.map(({ path }) => path));
    expect((await uploads[0]!.end()).status).to.equal(204);
    await create(10);
  });

  it("end with DELETE, which removes what has arrived but not a version", async () => {
    const upload = await create(large.length);
    await upload.appended(0, large.subarray(0, 8 * mebibyte));
    expect(await traces()).to.have.length(2);
    expect((await upload.end()).status).to.equal(204);
    await expectTraces();
    for (const response of [
      await upload.show(),
      await upload.append(8 * mebibyte, large.subarray(8 * mebibyte)),
      await upload.end(),
    ])
      expectErrorResponse(response, 404, "not_found");
    const archive = await anArchive();
    const stored = await create(archive.length);
    await send(stored, archive, archive.length);
    await stored.outcome();
    expect((await stored.end()).status).to.equal(204);
    await expectCurrent(archive);
  });

  it("expire after a day, with everything that they have stored", async () => {
    const archive = await anArchive();
    const upload = await create(large.length);
    await upload.appended(0, large.subarray(0, 8 * mebibyte));
    const done = await create(archive.length);
    await send(done, archive, archive.length);
    await done.outcome();
    const { prisma } = fixture.api.deps.postgres;
    const expire = (seconds: number): Promise<unknown> =>
      prisma.resumableUpload.updateMany({
        where: { gameId: fixture.game.id },
        data: { expiresAt: new Date(Date.now() - seconds * 1000) },
      });
    await expire(1);
    expectErrorResponse(await upload.show(), 404, "not_found");
    expectErrorResponse(await upload.append(8 * mebibyte, Buffer.alloc(1)), 404, "not_found");
    await sweepResumableUploads(fixture.api.deps);
    expect(await prisma.resumableUpload.count({ where: { gameId: fixture.game.id } })).to.equal(2);
    await expire(121);
    await sweepResumableUploads(fixture.api.deps);
    expect(await prisma.resumableUpload.count({ where: { gameId: fixture.game.id } })).to.equal(0);
    await expectTraces(`archives/${fixture.game.id}/${done.id}.tar.gz`);
    await expectCurrent(archive);
  });

  it("wait while the partner is suspended", async () => {
    const archive = await anArchive();
    const upload = await create(archive.length);
    await upload.appended(0, archive.subarray(0, 500));
    const setSuspended = (suspendedAt: Date | null): Promise<unknown> =>
      fixture.api.deps.postgres.prisma.partner.update({
        where: { id: fixture.partner.id },
        data: { suspendedAt },
      });
    await setSuspended(new Date());
    expectErrorResponse(await upload.append(500, archive.subarray(500)), 403, "forbidden");
    await setSuspended(null);
    await upload.appended(500, archive.subarray(500));
    expect(await upload.outcome()).to.include({ state: "done" });
  });

  it("are refused when the game is deleted", async () => {
    const archive = await anArchive();
    const upload = await create(archive.length);
    await upload.appended(0, archive.subarray(0, 500));
    expect((await fixture.client.delete(`/api/partners/games/${fixture.game.slug}`)).status).to.equal(204);
    expectErrorResponse(await upload.append(500, archive.subarray(500)), 404, "not_found");
  });
});

import { expect } from "chai";
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { request as httpRequest, type ClientRequest } from "node:http";
import { join } from "node:path";
import { promisify } from "node:util";
import { Upload } from "tus-js-client";
import { startLeftChecks } from "#api/games/resumable/uploadChecks.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { anArchive, sha256Of } from "#test/support/fixtures/archives.ts";
import { guideBlock } from "#test/support/fixtures/guides.ts";
import { UploadFixture } from "#test/support/fixtures/uploadFixture.ts";
import { UploadInChunks } from "#test/support/fixtures/uploadInChunks.ts";
import type { TestApi } from "#test/support/http/api.ts";
import { ApiClient } from "#test/support/http/apiClient.ts";
import { ApiProcess } from "#test/support/http/apiProcess.ts";
import { temporaryFolder } from "#test/support/processes/temporaryFolder.ts";
import { startReplica, stopReplica } from "#test/support/http/replica.ts";
import { sharedMinio, type TestMinio } from "#test/support/stores/minio.ts";
import { TcpRelay } from "#test/support/stores/tcpRelay.ts";

const run = promisify(execFile);
const mebibyte = 2 ** 20;

describe("an interrupted upload in chunks", function () {
  this.timeout(180_000);
  let store: TestMinio;
  let storeRelay: TcpRelay;
  let fixture: UploadFixture;
  let archive: Buffer;
  let upload: UploadInChunks;

  before(async () => {
    store = await sharedMinio();
    storeRelay = await TcpRelay.start(store.endpoint);
    const env = { S3_ENDPOINT: `http://${storeRelay.host}`, PARTNER_UPLOADS_PER_HOUR: "100" };
    fixture = await UploadFixture.start(env, { hasFaults: true, isLed: true });
    const noise = randomBytes(22 * mebibyte);
    archive = await anArchive({ header: { name: "engine/noise.bin", size: noise.length }, body: noise });
  });
  beforeEach(async () => {
    await fixture.newGame();
    upload = await UploadInChunks.create(fixture.client, fixture.game.slug, archive.length);
  });
  after(async () => {
    await fixture.stop();
    await storeRelay.stop();
    await store.remove();
  });

  /** Begins a chunk of all remaining bytes, and sends so many of them. */
  function beginChunk(url: string, offset: number, bytes: number): ClientRequest {
    const request = httpRequest(url + upload.path, {
      method: "PATCH",
      headers: {
        authorization: `Bearer ${fixture.partner.key}`,
        "content-type": "application/offset+octet-stream",
        "content-length": String(archive.length - offset),
        "upload-offset": String(offset),
      },
    });
    request.on("error", () => undefined);
    request.write(archive.subarray(offset, offset + bytes));
    return request;
  }

  function clientOf(url: string): ApiClient {
    return new ApiClient(url, Promise.resolve({ authorization: `Bearer ${fixture.partner.key}` }));
  }

  async function expectDone(of = upload): Promise<void> {
    const { state, result, error } = await of.outcome();
    expect(state, error?.message).to.equal("done");
    expect(result?.checksum).to.equal(`sha256:${sha256Of(archive)}`);
    const { bucket, client } = fixture.minio;
    const stored = await client.getObject(bucket, `archives/${fixture.game.id}/${of.id}.tar.gz`);
    expect(sha256Of(Buffer.concat(await stored.toArray()))).to.equal(sha256Of(archive));
  }

  it("keeps the bytes of a chunk whose connection is lost", async () => {
    const sent = 7 * mebibyte + 123;
    const request = beginChunk(fixture.api.url, 0, sent);
    await eventually(async () => (await upload.offset()) === 5 * mebibyte, { what: "a part to be recorded" });
    request.destroy();
    // What was on its way arrives or not.
    const offset = await eventually(
      async () => {
        const { offset: stored } = (await upload.show()).json<{ offset: number }>();
        return stored > 5 * mebibyte ? stored : undefined;
      },
      { what: "the rest of the chunk to be stored" },
    );
    expect(offset).to.be.at.most(sent);
    await upload.appended(offset, archive.subarray(offset));
    await expectDone();
  });

  it("continues at another replica after its process was killed in the middle of a chunk", async () => {
    const process = await ApiProcess.beside(fixture.api);
    const request = beginChunk(process.url, 0, 17 * mebibyte);
    await eventually(async () => (await upload.offset()) >= 10 * mebibyte, { what: "parts to be recorded" });
    await process.stop("SIGKILL");
    request.destroy();
    const offset = await upload.offset();
    expect(offset % (5 * mebibyte), "whole parts").to.equal(0);
    await upload.appended(offset, archive.subarray(offset, offset + 1000));
    await process.start();
    try {
      const elsewhere = upload.through(clientOf(process.url));
      expect(await elsewhere.offset()).to.equal(offset + 1000);
      await elsewhere.appended(offset + 1000, archive.subarray(offset + 1000));
      await expectDone(elsewhere);
    } finally {
      await process.stop();
    }
  });

  it("continues with a later request while the earlier one is silent", async () => {
    const silent = beginChunk(fixture.api.url, 0, 6 * mebibyte);
    await eventually(async () => (await upload.offset()) === 5 * mebibyte, { what: "a part to be recorded" });
    await upload.appended(5 * mebibyte, archive.subarray(5 * mebibyte));
    await expectDone();
    silent.destroy();
  });

  it("survives lost connections between API and object store, also while the archive is inspected", async () => {
    const before = storeRelay.resets;
    storeRelay.resetAfter(8 * mebibyte);
    await upload.appended(0, archive.subarray(0, 12 * mebibyte));
    expect(storeRelay.resets).to.equal(before + 1);
    storeRelay.resetResponseAfter(9 * mebibyte);
    await upload.appended(12 * mebibyte, archive.subarray(12 * mebibyte));
    await expectDone();
    expect(storeRelay.resets).to.equal(before + 2);
  });

  it("stops in the middle of a chunk when the partner is suspended", async () => {
    const process = await ApiProcess.beside(fixture.api, { UPLOAD_IDLE_MS: "4000" });
    try {
      const request = beginChunk(process.url, 0, 6 * mebibyte);
      const status = new Promise<number | undefined>((resolve) =>
        request.once("response", (response) => resolve(response.resume().statusCode)),
      );
      await eventually(async () => (await upload.offset()) === 5 * mebibyte, {
        what: "a part to be recorded",
      });
      await fixture.api.deps.postgres.prisma.partner.update({
        where: { id: fixture.partner.id },
        data: { suspendedAt: new Date() },
      });
      expect(await status).to.equal(403);
      request.destroy();
    } finally {
      await process.stop();
    }
  });

  describe("whose bytes have all arrived", () => {
    let replica: TestApi;

    before(async () => {
      const { endpoint, bucket, accessKey, secretKey } = fixture.api.deps.config.objectStore;
      replica = await startReplica(fixture.api, {
        env: {
          S3_ENDPOINT: endpoint,
          S3_BUCKET: bucket,
          S3_ACCESS_KEY: accessKey,
          S3_SECRET_KEY: secretKey,
        },
      });
      // As of a process that stops.
      await replica.deps.uploadChecks.stop();
    });
    beforeEach(async () => {
      const there = upload.through(replica.asPartner(fixture.partner));
      await there.appended(0, archive);
    });
    after(() => stopReplica(replica));

    it("is inspected by the leader if its process stops", async () => {
      await startLeftChecks(fixture.api.deps);
      await expectDone();
    });

    it("is inspected again if the process of its check has died", async () => {
      const { prisma } = fixture.api.deps.postgres;
      const dead = { writer: "dead", renewedAt: new Date(Date.now() - 61_000) };
      await prisma.resumableUpload.update({ where: { id: upload.id }, data: dead });
      await startLeftChecks(fixture.api.deps);
      await expectDone();
    });

    it("is refused if the partner's key was revoked before the end", async () => {
      await fixture.api.deps.postgres.prisma.partnerKey.updateMany({
        where: { partnerId: fixture.partner.id },
        data: { revokedAt: new Date() },
      });
      await startLeftChecks(fixture.api.deps);
      const { prisma } = fixture.api.deps.postgres;
      await eventually(
        async () => {
          const { state, outcome } = await prisma.resumableUpload.findUniqueOrThrow({
            where: { id: upload.id },
          });
          return state === "refused" && JSON.stringify(outcome).includes('"unauthorized"');
        },
        { what: "the upload to be refused" },
      );
      await eventually(async () => (await fixture.objectKeys()).length === 0, {
        what: "its end in the store",
      });
      await fixture.expectNoTrace();
    });
  });

  it("is finished by tus-js-client over a connection that breaks", async () => {
    const apiRelay = await TcpRelay.start(fixture.api.url);
    const offsets: number[] = [];
    try {
      apiRelay.resetAfter(11 * mebibyte);
      await new Promise<void>((resolve, reject) => {
        const sending = new Upload(archive, {
          endpoint: `http://${apiRelay.host}/api/partners/games/${fixture.game.slug}/uploads`,
          headers: { Authorization: `Bearer ${fixture.partner.key}` },
          metadata: { filename: "game.tar.gz", label: "1.4.2" },
          chunkSize: 4 * mebibyte,
          retryDelays: [0, 100, 200, 400, 800],
          onChunkComplete: (_, accepted) => void offsets.push(accepted),
          onSuccess: () => {
            upload = upload.at(new URL(sending.url ?? "").pathname);
            resolve();
          },
          onError: reject,
        });
        sending.start();
      });
      expect(apiRelay.resets).to.equal(1);
      expect(offsets.at(-1)).to.equal(archive.length);
      await expectDone();
    } finally {
      await apiRelay.stop();
    }
  });

  it("is finished by the commands of docs/http.md over a connection that breaks", async () => {
    const apiRelay = await TcpRelay.start(fixture.api.url);
    const folder = temporaryFolder("chunks");
    try {
      writeFileSync(join(folder, "my-game.tar.gz"), archive);
      const commands = guideBlock("http", "chunks")
        .replace("/games/my-game/", `/games/${fixture.game.slug}/`)
        .replace("sleep 5", "true");
      apiRelay.resetAfter(6 * mebibyte);
      const { stdout } = await run(
        "bash",
        ["-euo", "pipefail", "-c", `${commands}\nprintf '\\n%s\\n' "$upload"`],
        {
          cwd: folder,
          env: {
            PATH: process.env["PATH"],
            JOYPOD_API_KEY: fixture.partner.key,
            JOYPOD_URL: `http://${apiRelay.host}`,
          },
        },
      );
      expect(apiRelay.resets).to.equal(1);
      await expectDone(upload.at(new URL(stdout.trim().split("\n").at(-1) ?? "").pathname));
      const { versions } = (
        await fixture.client.get(`/api/partners/games/${fixture.game.slug}/versions`)
      ).json<{ versions: { label: string }[] }>();
      expect(versions.map(({ label }) => label)).to.deep.equal(["1.4.2"]);
    } finally {
      await apiRelay.stop();
    }
  });
});

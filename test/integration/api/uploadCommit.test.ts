import { expect } from "chai";
import { sweepUploads } from "#api/games/upload/uploadLease.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { startFaultProxy, type FaultProxy } from "#test/support/cluster/faultProxy.ts";
import { anArchive, sha256Of } from "#test/support/fixtures/archives.ts";
import { UploadFixture } from "#test/support/fixtures/uploadFixture.ts";
import { startPostgresGate } from "#test/support/crashPoints/postgresGate.ts";
import { Gate } from "#test/support/crashPoints/strike.ts";
import { sharedMinio, type TestMinio } from "#test/support/stores/minio.ts";
import { createTestDatabase, type TestDatabase } from "#test/support/stores/postgres.ts";

const nobody = { kill: () => Promise.resolve(), freeze: () => Promise.resolve(), wake: () => undefined };

describe("an upload whose commit succeeds without a response", function () {
  this.timeout(60_000);
  const gate = new Gate(nobody);
  let database: TestDatabase;
  let gated: { url: string; close: () => Promise<void> };
  let uploads: UploadFixture;

  before(async () => {
    database = await createTestDatabase();
    gated = await startPostgresGate({ gate, program: "api", url: database.url });
    uploads = await UploadFixture.start({ DATABASE_URL: gated.url }, { hasFaults: true });
  });
  after(async () => {
    await uploads.stop();
    await gated.close();
    await database.drop();
  });

  it("has its archive, which is served, and succeeds when it is retried", async () => {
    await uploads.newGame();
    const archive = await anArchive();
    gate.arm({
      program: "api",
      store: "database",
      what: "COMMIT of drop-upload-lease",
      nth: 1,
      mode: "response lost",
    });
    const lost = await uploads.upload(archive);
    expect(gate.hasStruck, JSON.stringify(gate.counts())).to.equal(true);
    expect(lost.status, lost.text).to.be.at.least(500);
    expect(await uploads.stateOf()).to.include({ status: "active" });
    expect(await uploads.objectKeys(), "archives").to.have.length(1);
    await uploads.uploaded(archive);
    const [key = ""] = await uploads.objectKeys();
    expect(
      sha256Of(
        await uploads.minio.client
          .getObject(uploads.minio.bucket, key)
          .then(async (body) => Buffer.concat((await body.toArray()) as Buffer[])),
      ),
    ).to.equal(sha256Of(archive));
  });
});

describe("an upload that continues after its lease has expired", function () {
  this.timeout(60_000);
  let store: TestMinio;
  let proxy: FaultProxy;
  let uploads: UploadFixture;

  before(async () => {
    store = await sharedMinio();
    proxy = await startFaultProxy(store.endpoint);
    uploads = await UploadFixture.start({ S3_ENDPOINT: proxy.endpoint }, { hasFaults: true });
  });
  after(async () => {
    await uploads.stop();
    await proxy.close();
    await store.remove();
  });

  it("is refused while the sweeper waits for the object store, so that no current archive is removed", async () => {
    await uploads.newGame();
    const { pool, prisma } = uploads.api.deps.postgres;
    const archive = await anArchive();
    const { request, response } = await uploads.beginUpload(archive);
    const [held, released] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()];
    // The sweeper begins with a look for parts of the upload; an upload that is refused does the same, later.
    let looks = 0;
    proxy.fault = ({ method, path }) => {
      if (method !== "GET" || !/^\/[^/]+\/?$/.test(path) || looks++ > 0) return undefined;
      held.resolve(undefined);
      return { holdUntil: released.promise };
    };
    await prisma.gameUpload.updateMany({
      where: { gameId: uploads.game.id },
      data: { renewedAt: new Date(Date.now() - 61_000) },
    });
    const sweeping = sweepUploads(uploads.api.deps);
    sweeping.catch(() => undefined); // Thrown below.
    try {
      await held.promise;
      // As Postgres does by itself after some seconds.
      await pool.query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction'",
      );
      request.end(archive.subarray(100));
      expect(await response).to.equal(409);
    } finally {
      released.resolve(undefined);
      proxy.fault = undefined;
    }
    await sweeping;
    await eventually(
      async () => (await prisma.gameUpload.count({ where: { gameId: uploads.game.id } })) === 0,
      { what: "the upload to be swept" },
    );
    expect(await uploads.stateOf()).to.include({ status: "pending_upload", currentVersionId: null });
    expect(await uploads.objectKeys()).to.deep.equal([]);
    await uploads.uploaded(archive);
    expect(await uploads.objectKeys()).to.have.length(1);
  });
});

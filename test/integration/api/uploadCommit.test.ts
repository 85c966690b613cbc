import { expect } from "chai";
import { anArchive, sha256Of } from "#test/support/fixtures/archives.ts";
import { UploadFixture } from "#test/support/fixtures/uploadFixture.ts";
import { startPostgresGate } from "#test/support/crashPoints/postgresGate.ts";
import { Gate } from "#test/support/crashPoints/strike.ts";
import { createTestDatabase, type TestDatabase } from "#test/support/stores/postgres.ts";

const nobody = { kill: () => Promise.resolve(), freeze: () => Promise.resolve(), wake: () => undefined };

describe("an upload whose commit is carried out without a response", function () {
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

  it("has its archive, which the game is served from, and is done when it is repeated", async () => {
    await uploads.newGame();
    const archive = await anArchive();
    gate.arm({ program: "api", store: "database", what: "COMMIT of drop-upload-lease", nth: 1, mode: "response lost" });
    const lost = await uploads.upload(archive);
    expect(gate.hasStruck, JSON.stringify(gate.counts())).to.equal(true);
    expect(lost.status, lost.text).to.be.at.least(500);
    expect(await uploads.stateOf()).to.include({ status: "active" });
    expect(await uploads.objectKeys(), "archives").to.have.length(1);
    await uploads.uploaded(archive);
    const [key = ""] = await uploads.objectKeys();
    expect(sha256Of(await uploads.minio.client.getObject(uploads.minio.bucket, key).then(async (body) => Buffer.concat(await body.toArray() as Buffer[])))).to.equal(sha256Of(archive));
  });
});

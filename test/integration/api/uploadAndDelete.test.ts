import { expect } from "chai";
import { anArchive } from "#test/support/fixtures/archives.ts";
import { UploadFixture } from "#test/support/fixtures/uploadFixture.ts";
import { eventually } from "#test/support/clocks/eventually.ts";

describe("an upload to a game that is deleted meanwhile", function () {
  this.timeout(60_000);
  let uploads: UploadFixture;

  before(async () => {
    uploads = await UploadFixture.start({}, { hasFaults: true });
  });
  beforeEach(() => uploads.newGame());
  after(() => uploads.stop());

  async function waiting(count: number): Promise<void> {
    const blocked = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    await eventually(async () => (await uploads.api.deps.postgres.pool.query(blocked)).rowCount === count, { what: `${count} to wait for a lock` });
  }

  it("is not found, also when it brings the archive that the game has", async () => {
    const archive = await anArchive();
    await uploads.uploaded(archive);
    const { request, response } = await uploads.beginUpload(archive);
    expect((await uploads.client.delete(`/api/partners/games/${uploads.game.slug}`)).status).to.equal(204);
    request.end(archive.subarray(100));
    expect(await response).to.equal(404);
  });

  it("is a conflict where another upload has taken its place and the game is still there, whatever archive it brings", async () => {
    for (const isSame of [false, true]) {
      await uploads.newGame();
      const archive = await anArchive();
      const { request, response } = await uploads.beginUpload(archive);
      // As when its process was frozen for longer than its lease.
      await uploads.api.deps.postgres.prisma.gameUpload.updateMany({ where: { gameId: uploads.game.id }, data: { renewedAt: new Date(Date.now() - 61_000) } });
      await uploads.uploaded(isSame ? archive : await anArchive());
      const before = await uploads.stateOf();
      request.end(archive.subarray(100));
      expect(await response, isSame ? "the same archive" : "another archive").to.equal(409);
      expect(await uploads.stateOf()).to.deep.equal(before);
    }
  });

  it("and the deletion wait for each other in one order, so that neither fails", async () => {
    const archive = await anArchive();
    const holder = await uploads.api.deps.postgres.pool.connect();
    try {
      const { request, response } = await uploads.beginUpload(archive);
      await holder.query("BEGIN");
      await holder.query("SELECT FROM game_uploads WHERE game_id = $1 FOR UPDATE", [uploads.game.id]);
      request.end(archive.subarray(100));
      await waiting(1);
      const deleted = uploads.client.delete(`/api/partners/games/${uploads.game.slug}`);
      await waiting(2);
      await holder.query("COMMIT");
      expect(await response).to.equal(200);
      expect((await deleted).status).to.equal(204);
    } finally {
      holder.release();
    }
  });
});

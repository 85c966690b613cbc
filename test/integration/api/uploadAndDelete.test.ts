import { expect } from "chai";
import { aPng } from "#test/factories/pictures.ts";
import { anArchive } from "#test/support/fixtures/archives.ts";
import { UploadFixture } from "#test/support/fixtures/uploadFixture.ts";
import { eventually } from "#test/support/clocks/eventually.ts";

describe("an upload to a game that is deleted in the meantime", function () {
  this.timeout(60_000);
  let uploads: UploadFixture;

  before(async () => {
    uploads = await UploadFixture.start({}, { hasFaults: true });
  });
  beforeEach(() => uploads.newGame());
  after(() => uploads.stop());

  async function waiting(count: number): Promise<void> {
    const blocked =
      "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    await eventually(async () => (await uploads.api.deps.postgres.pool.query(blocked)).rowCount === count, {
      what: `${count} to wait for a lock`,
    });
  }

  /** Runs `work` while somebody else holds what this statement locks of the game. */
  async function whileLocked<T>(lock: string, work: () => Promise<T>): Promise<T> {
    const holder = await uploads.api.deps.postgres.pool.connect();
    try {
      await holder.query("BEGIN");
      await holder.query(lock, [uploads.game.id]);
      const result = await work();
      await holder.query("COMMIT");
      return result;
    } finally {
      holder.release();
    }
  }

  /**
   * Sends the game's deletion; resolves once it waits for a lock, as the last of `count`. `deleted` is the
   * status of the response.
   */
  async function beginDeletion(count: number): Promise<{ deleted: Promise<number> }> {
    const deleted = uploads.client
      .delete(`/api/partners/games/${uploads.game.slug}`)
      .then(({ status }) => status);
    await waiting(count);
    return { deleted };
  }

  it("returns not_found, even with the game's current archive", async () => {
    const archive = await anArchive();
    await uploads.uploaded(archive);
    const { request, response } = await uploads.beginUpload(archive);
    expect((await uploads.client.delete(`/api/partners/games/${uploads.game.slug}`)).status).to.equal(204);
    request.end(archive.subarray(100));
    expect(await response).to.equal(404);
  });

  it("returns conflict if another upload has taken the lease and the game still exists, whatever its archive", async () => {
    for (const isSame of [false, true]) {
      await uploads.newGame();
      const archive = await anArchive();
      const { request, response } = await uploads.beginUpload(archive);
      // As when its process was frozen for longer than its lease.
      await uploads.api.deps.postgres.prisma.gameUpload.updateMany({
        where: { gameId: uploads.game.id },
        data: { renewedAt: new Date(Date.now() - 61_000) },
      });
      await uploads.uploaded(isSame ? archive : await anArchive());
      const before = await uploads.stateOf();
      request.end(archive.subarray(100));
      expect(await response, isSame ? "the same archive" : "another archive").to.equal(409);
      expect(await uploads.stateOf()).to.deep.equal(before);
    }
  });

  it("does not deadlock with the deletion, and its archive is removed with the game", async () => {
    const archive = await anArchive();
    const { request, response } = await uploads.beginUpload(archive);
    const { deleted } = await whileLocked(
      "SELECT FROM game_uploads WHERE game_id = $1 FOR UPDATE",
      async () => {
        request.end(archive.subarray(100));
        await waiting(1);
        return beginDeletion(2);
      },
    );
    expect([await response, await deleted]).to.deep.equal([200, 204]);
    const versions = await uploads.api.deps.postgres.prisma.gameVersion.findMany({
      where: { gameId: uploads.game.id },
    });
    expect(versions.map(({ supersededAt }) => supersededAt !== null)).to.deep.equal([true]);
  });

  it("is removed with the game if it is a picture", async () => {
    const put = async (colour: number): Promise<number> =>
      (
        await uploads.client.put(`/api/partners/games/${uploads.game.slug}/picture`, aPng({ colour }), {
          "content-type": "image/png",
        })
      ).status;
    expect(await put(1)).to.equal(200);
    const { replaced, deleted } = await whileLocked(
      "SELECT FROM game_pictures WHERE game_id = $1 FOR UPDATE",
      async () => {
        const replacing = put(2);
        await waiting(1);
        return { replaced: replacing, ...(await beginDeletion(2)) };
      },
    );
    expect([await replaced, await deleted]).to.deep.equal([200, 204]);
    const pictures = await uploads.api.deps.postgres.prisma.gamePicture.findMany({
      where: { gameId: uploads.game.id },
    });
    expect(pictures.map(({ supersededAt }) => supersededAt !== null)).to.deep.equal([true, true]);
  });

  it("returns not_found if it began while the deletion waited", async () => {
    const archive = await anArchive();
    // As a change of the game does.
    const {
      upload: { request, response },
      deleted,
    } = await whileLocked("SELECT FROM games WHERE id = $1 FOR NO KEY UPDATE", async () => {
      const deletion = await beginDeletion(1);
      return { upload: await uploads.beginUpload(archive), ...deletion };
    });
    expect(await deleted).to.equal(204);
    request.end(archive.subarray(100));
    expect(await response).to.equal(404);
  });
});

import { expect } from "chai";
import { sweepResumableUploads } from "#api/games/resumable/endUpload.ts";
import { claimCheck, listUncheckedUploads, updateCheckLeft } from "#api/games/resumable/resumableQueries.ts";
import { startLeftChecks } from "#api/games/resumable/uploadChecks.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { anArchive } from "#test/support/fixtures/archives.ts";
import { UploadFixture } from "#test/support/fixtures/uploadFixture.ts";
import { UploadInChunks } from "#test/support/fixtures/uploadInChunks.ts";

describe("uploads in chunks that fail or are ended", function () {
  this.timeout(120_000);
  let fixture: UploadFixture;

  before(async () => {
    fixture = await UploadFixture.start({});
  });
  beforeEach(() => fixture.newGame());
  after(() => fixture.stop());

  /** Creates an upload of which all bytes but no parts are recorded. */
  async function createWithoutParts(): Promise<string> {
    const { id } = await UploadInChunks.create(fixture.client, fixture.game.slug, 10);
    await fixture.api.deps.postgres.prisma.resumableUpload.update({
      where: { id },
      data: { state: "checking", received: 10 },
    });
    return id;
  }

  it("keep the archive of a version that is committed while DELETE waits", async () => {
    const archive = await anArchive();
    const upload = await UploadInChunks.create(fixture.client, fixture.game.slug, archive.length);
    await upload.appended(0, archive);
    await upload.outcome();
    const { postgres } = fixture.api.deps;
    const version = await postgres.prisma.gameVersion.findUniqueOrThrow({ where: { id: upload.id } });
    // As at the end of the check: the version and the outcome become visible together.
    await postgres.prisma.gameVersion.update({
      where: { id: upload.id },
      data: { id: `moved-${upload.id}` },
    });
    let ending: ReturnType<UploadInChunks["end"]> | undefined;
    await postgres.transaction(async (transaction) => {
      await transaction.query({
        text: "UPDATE resumable_uploads SET renewed_at = now() WHERE id = $1",
        values: [upload.id],
      });
      await transaction.query({
        text: "UPDATE game_versions SET id = $1 WHERE id = $2",
        values: [upload.id, `moved-${upload.id}`],
      });
      ending = upload.end();
      await eventually(
        async () => {
          const { rows } = await postgres.pool.query<{ waiting: number }>(
            `SELECT count(*)::int AS waiting FROM pg_stat_activity
              WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE 'UPDATE resumable_uploads%'`,
          );
          return rows[0]?.waiting === 1;
        },
        { what: "DELETE to wait for the check" },
      );
    });
    expect((await ending)?.status).to.equal(204);
    expect(await fixture.objectKeys()).to.deep.equal([version.objectKey]);
  });

  it("leave nothing when their creation fails", async () => {
    const { pool, prisma } = fixture.api.deps.postgres;
    await pool.query(
      "ALTER TABLE resumable_uploads ADD CONSTRAINT failure CHECK (multipart_id IS NULL) NOT VALID",
    );
    try {
      const failed = await UploadInChunks.request(fixture.client, fixture.game.slug, 10);
      expect(failed.status).to.equal(500);
    } finally {
      await pool.query("ALTER TABLE resumable_uploads DROP CONSTRAINT failure");
    }
    expect(await fixture.unfinishedUploads()).to.have.length(1);
    await prisma.resumableUpload.updateMany({
      where: { gameId: fixture.game.id },
      data: { expiresAt: new Date(Date.now() - 121_000) },
    });
    await sweepResumableUploads(fixture.api.deps);
    await fixture.expectNoTrace();
  });

  it("are checked again after a wait that grows with the failures", async () => {
    const { pool, prisma } = fixture.api.deps.postgres;
    const id = await createWithoutParts();
    const isListed = async (checks: number, idleSeconds: number): Promise<boolean> => {
      const renewedAt = new Date(Date.now() - idleSeconds * 1000);
      await prisma.resumableUpload.update({ where: { id }, data: { checks, renewedAt } });
      return (await listUncheckedUploads(pool, 100)).includes(id);
    };
    expect(await isListed(0, 0)).to.equal(true);
    expect(await isListed(3, 25)).to.equal(false);
    expect(await isListed(3, 35)).to.equal(true);
    const claim = { id, writer: "check" };
    for (const [isWaiting, checks] of [
      [true, 3],
      [false, 4],
    ] as const) {
      await claimCheck(pool, claim);
      await updateCheckLeft(pool, claim, isWaiting);
      const left = await prisma.resumableUpload.findUniqueOrThrow({ where: { id } });
      expect(left).to.include({ writer: null, checks });
      expect(await listUncheckedUploads(pool, 100)).to.not.include(id);
    }
  });

  it("are refused when parts are missing", async () => {
    const id = await createWithoutParts();
    await startLeftChecks(fixture.api.deps);
    const { outcome } = await eventually(
      async () => {
        const row = await fixture.api.deps.postgres.prisma.resumableUpload.findUniqueOrThrow({
          where: { id },
        });
        return row.state === "refused" ? row : undefined;
      },
      { what: "the upload to be refused" },
    );
    expect(JSON.stringify(outcome)).to.contain("Upload it again");
    await fixture.expectNoTrace();
  });
});

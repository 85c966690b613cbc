import { expect } from "chai";
import { sweepVersions } from "#api/games/sweepVersions.ts";
import { anArchive, sha256Of } from "#test/support/fixtures/archives.ts";
import { UploadFixture } from "#test/support/fixtures/uploadFixture.ts";

describe("a repeated upload of the same archive", function () {
  this.timeout(60_000);
  let fixture: UploadFixture;

  before(async () => {
    fixture = await UploadFixture.start({});
  });
  beforeEach(() => fixture.newGame());
  after(() => fixture.stop());

  async function currentKey(): Promise<string> {
    return (await fixture.operator.cache(fixture.game.slug))!.spec.source.key;
  }

  async function digestOfCurrent(): Promise<string> {
    const stored = await fixture.minio.client.getObject(fixture.minio.bucket, await currentKey());
    return sha256Of(Buffer.concat(await stored.toArray()));
  }

  /** As if all versions had been uploaded, and superseded, an hour ago. */
  async function anHourPasses(): Promise<void> {
    const text =
      "UPDATE game_versions SET created_at = created_at - interval '1 hour', superseded_at = superseded_at - interval '1 hour' WHERE game_id = $1";
    await fixture.api.deps.postgres.pool.query(text, [fixture.game.id]);
  }

  it("is stored again if the object store has lost it", async () => {
    const archive = await anArchive();
    await fixture.uploaded(archive);
    await fixture.minio.client.removeObject(fixture.minio.bucket, await currentKey());
    await fixture.uploaded(archive);
    expect(await digestOfCurrent()).to.equal(sha256Of(archive));
  });

  it("is stored again if its object was overwritten, which is then removed", async () => {
    const archive = await anArchive();
    await fixture.uploaded(archive);
    await anHourPasses();
    await fixture.minio.client.putObject(
      fixture.minio.bucket,
      await currentKey(),
      Buffer.alloc(archive.length),
    );
    await fixture.uploaded(archive);
    expect(await digestOfCurrent()).to.equal(sha256Of(archive));
    await anHourPasses();
    await sweepVersions(fixture.api.deps);
    expect(await fixture.objectKeys()).to.deep.equal([await currentKey()]);
  });
});

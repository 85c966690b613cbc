import { expect } from "chai";
import { Client } from "minio";
import { saveKey } from "#contracts/objectKeys.ts";
import { sweepVersions } from "#api/games/sweepVersions.ts";
import { refusedSlotMaxMs, releaseSlots } from "#api/gameSessions/recording/releaseSlots.ts";
import { sweepSaves } from "#api/saves/sweepSaves.ts";
import { aGame, aGameSessionRow, aSaveSlot, aUser, type TestGame } from "#test/factories/catalog.ts";
import { FakeClock } from "#test/support/clocks/fakeClock.ts";
import { TestApi } from "#test/support/http/api.ts";
import { RefusedRows } from "#api/stores/sweepRows.ts";
import { sweepUploads } from "#api/games/upload/uploadLease.ts";
import { sweepPictures } from "#api/games/pictures/storePicture.ts";

/** No object can have such a name: whatever is asked of it is refused. */
const impossible = "no/../such";
const hoursAgo = (hours: number): Date => new Date(Date.now() - hours * 3600_000);

/** A client that says how many objects it was asked to read. */
class CountedReads extends Client {
  reads = 0;

  override async getObject(...request: Parameters<Client["getObject"]>): ReturnType<Client["getObject"]> {
    this.reads++;
    return super.getObject(...request);
  }
}

describe("a row whose objects the object store refuses to change", function () {
  this.timeout(60_000);
  let api: TestApi;
  let game: TestGame;
  let clock: FakeClock;
  let refused: RefusedRows;

  before(async () => {
    api = await TestApi.start({ minio: true, hasFaults: true, env: { GAME_VERSIONS_KEPT: "1" } });
  });
  beforeEach(async () => {
    game = await aGame(api.deps);
    clock = new FakeClock();
    refused = new RefusedRows(clock);
  });
  after(() => api.stop());

  function timesLogged(sentence: string): number {
    return api.logLines.filter((line) => line.includes(sentence)).length;
  }

  it("is skipped: remains of other uploads are removed; it is reported once, and retried", async () => {
    const { gameUpload } = api.deps.postgres.prisma;
    const past = { gameId: game.id, abandonedAt: hoursAgo(2) };
    await gameUpload.create({
      data: { id: "refused", objectKey: impossible, renewedAt: hoursAgo(2), ...past },
    });
    await gameUpload.create({
      data: { id: "other", objectKey: "archives/other", renewedAt: hoursAgo(1), ...past },
    });
    await sweepUploads(api.deps, refused);
    expect((await gameUpload.findMany({ where: past })).map(({ id }) => id)).to.deep.equal(["refused"]);
    await clock.advance(3600_000);
    await sweepUploads(api.deps, refused);
    expect(timesLogged("The sweeper could not remove the remains of an upload")).to.equal(1);
    await gameUpload.update({ where: { id: "refused" }, data: { objectKey: "archives/refused" } });
    await sweepUploads(api.deps, refused);
    expect(await gameUpload.count({ where: past }), "not at once").to.equal(1);
    await clock.advance(3600_000);
    await sweepUploads(api.deps, refused);
    expect(await gameUpload.count({ where: past })).to.equal(0);
  });

  it("is skipped: other superseded archives are removed", async () => {
    const { gameVersion } = api.deps.postgres.prisma;
    const past = {
      gameId: game.id,
      sha256: "a".repeat(64),
      sizeBytes: 1n,
      unpackedSizeBytes: 1n,
      createdAt: hoursAgo(2),
      supersededAt: hoursAgo(1),
    };
    await gameVersion.create({ data: { id: "refused", objectKey: impossible, ...past } });
    await gameVersion.create({ data: { id: "other", objectKey: `archives/${game.id}/other`, ...past } });
    await sweepVersions(api.deps, refused);
    expect(
      (await gameVersion.findMany({ where: { gameId: game.id, removedAt: { not: null } } })).map(
        ({ id }) => id,
      ),
    ).to.deep.equal(["other"]);
  });

  it("is skipped: other unused pictures are removed", async () => {
    const { gamePicture } = api.deps.postgres.prisma;
    const past = {
      gameId: game.id,
      sha256: "a".repeat(64),
      type: "image/png",
      sizeBytes: 1,
      width: 1,
      height: 1,
    };
    await gamePicture.create({ data: { id: impossible, supersededAt: hoursAgo(2), ...past } });
    await gamePicture.create({ data: { id: "other", supersededAt: hoursAgo(1), ...past } });
    await sweepPictures(api.deps, refused);
    expect((await gamePicture.findMany({ where: { gameId: game.id } })).map(({ id }) => id)).to.deep.equal([
      impossible,
    ]);
  });

  it("is skipped: saves of other deleted slots are removed", async () => {
    const { saveSweep } = api.deps.postgres.prisma;
    await saveSweep.create({
      data: { slotId: impossible, dueAt: hoursAgo(2), slotDeletedAt: hoursAgo(2400) },
    });
    await saveSweep.create({ data: { slotId: "other", dueAt: hoursAgo(1), slotDeletedAt: hoursAgo(2400) } });
    await sweepSaves(api.deps, undefined, refused);
    expect((await saveSweep.findMany()).map(({ slotId }) => slotId)).to.deep.equal([impossible]);
  });

  async function ended(hours: number): Promise<{ id: string; slotId: string }> {
    const user = await aUser(api.deps);
    const { id: slotId } = await aSaveSlot(api.deps, { user, game });
    const { id } = await aGameSessionRow(
      api.deps,
      { user, game },
      { slotId, status: "stopped", endedAt: hoursAgo(hours), slotReleasedAt: null },
    );
    return { id, slotId };
  }

  it("is skipped: slots of other ended sessions are released, and its own 25 hours after the session's end", async () => {
    const { prisma } = api.deps.postgres;
    const [first, other] = [await ended(2), await ended(1)];
    await prisma.saveSlot.update({ where: { id: first.slotId }, data: { id: impossible } });
    expect(await releaseSlots(api.deps, refused)).to.deep.equal([other.id]);
    await prisma.gameSession.updateMany({ where: { id: first.id }, data: { endedAt: hoursAgo(24.5) } });
    await clock.advance(3600_000);
    expect(await releaseSlots(api.deps, refused)).to.deep.equal([]);
    await prisma.gameSession.updateMany({ where: { id: first.id }, data: { endedAt: hoursAgo(25.5) } });
    expect(await releaseSlots(api.deps, refused)).to.deep.equal([first.id]);
  });

  it("is reported once and skipped for a while if its newest save can be listed but not read", async () => {
    const { client: owner, bucket } = api.minio!;
    const { prisma } = api.deps.postgres;
    const { id, slotId } = await ended(2);
    const key = saveKey(slotId, { generation: 1, gameSession: id, sequence: 1, attempt: 1 });
    await owner.putObject(bucket, key, Buffer.from("progress"));
    // Who signs nothing may list the bucket, and read nothing of it.
    const listing = {
      Effect: "Allow",
      Principal: { AWS: ["*"] },
      Action: ["s3:ListBucket"],
      Resource: [`arn:aws:s3:::${bucket}`],
    };
    await owner.setBucketPolicy(bucket, JSON.stringify({ Version: "2012-10-17", Statement: [listing] }));
    const { hostname, port } = new URL(api.minio!.endpoint);
    const client = new CountedReads({
      endPoint: hostname,
      port: Number(port),
      useSSL: false,
      region: api.minio!.region,
    });
    const deps = { ...api.deps, objectStore: { ...api.deps.objectStore, client } };

    for (let pass = 1; pass <= 2; pass++) expect(await releaseSlots(deps, refused)).to.deep.equal([]);
    expect(client.reads, "of two passes in a row").to.equal(1);
    await clock.advance(refusedSlotMaxMs);
    expect(await releaseSlots(deps, refused)).to.deep.equal([]);
    expect(client.reads, "a minute later").to.equal(2);
    expect(api.logLines.filter((line) => line.includes(id))).to.have.length(1);
    expect(await releaseSlots(api.deps)).to.deep.equal([id]);
    expect(await prisma.saveSlot.findUniqueOrThrow({ where: { id: slotId } })).to.include({ objectKey: key });
  });
});

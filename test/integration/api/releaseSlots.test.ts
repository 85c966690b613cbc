import { expect } from "chai";
import { saveKey } from "#contracts/objectKeys.ts";
import { releaseSlots } from "#api/gameSessions/recorder/releaseSlots.ts";
import { listSaveVersions } from "#api/saves/saveVersionQueries.ts";
import { aGame, aGameSessionRow, aSaveSlot, aUser, type TestGame } from "#test/factories/catalog.ts";
import { TestApi } from "#test/support/http/api.ts";

const hoursAgo = (hours: number): Date => new Date(Date.now() - hours * 3600_000);

describe("releaseSlots", function () {
  this.timeout(60_000);
  let api: TestApi;
  let game: TestGame;

  before(async () => {
    api = await TestApi.start({ minio: true });
    game = await aGame(api.deps);
  });
  after(() => api.stop());

  for (const [what, recordedAt] of [["whose last save was not stored at its end", hoursAgo(26)], ["that the cluster never ended", null]] as const) {
    it(`gives the slot of a session ${what} back with what was stored since, also when nobody looked for more than a day`, async () => {
      const user = await aUser(api.deps);
      const { id: slotId } = await aSaveSlot(api.deps, { user, game });
      const { id } = await aGameSessionRow(api.deps, { user, game }, { slotId, status: "stopped", endedAt: hoursAgo(26), recordedAt, slotReleasedAt: null });
      const objectKey = saveKey(slotId, { generation: 1, gameSession: id, sequence: 1, attempt: 1 });
      await api.minio!.client.putObject(api.minio!.bucket, objectKey, Buffer.from("progress"));
      expect(await releaseSlots(api.deps)).to.deep.equal([id]);
      expect(await api.deps.postgres.prisma.saveSlot.findUniqueOrThrow({ where: { id: slotId } })).to.include({ objectKey, savedBySession: id });
      expect((await listSaveVersions(api.deps.postgres.pool, [slotId])).map((version) => [version.kind, version.objectKey])).to.deep.equal([["played", objectKey]]);
    });
  }
});

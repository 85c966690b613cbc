import { expect } from "chai";
import { saveKey } from "#contracts/objectKeys.ts";
import { unavailable } from "#api/errors.ts";
import { releaseSlots } from "#api/gameSessions/recording/releaseSlots.ts";
import { listSaveVersions } from "#api/saves/saveVersionQueries.ts";
import { RefusedRows } from "#api/stores/sweepRows.ts";
import { aGame, aGameSessionRow, aSaveSlot, aUser, type TestGame } from "#test/factories/catalog.ts";
import { FakeClock } from "#test/support/clocks/fakeClock.ts";
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

  for (const [what, recordedAt] of [
    ["whose last save was not stored at its end", hoursAgo(26)],
    ["that the cluster never ended", null],
  ] as const) {
    it(`releases the slot of a session ${what} with the saves stored since, even after more than a day without a check`, async () => {
      const user = await aUser(api.deps);
      const { id: slotId } = await aSaveSlot(api.deps, { user, game });
      const { id } = await aGameSessionRow(
        api.deps,
        { user, game },
        { slotId, status: "stopped", endedAt: hoursAgo(26), recordedAt, slotReleasedAt: null },
      );
      const objectKey = saveKey(slotId, { generation: 1, gameSession: id, sequence: 1, attempt: 1 });
      await api.minio!.client.putObject(api.minio!.bucket, objectKey, Buffer.from("progress"));
      expect(await releaseSlots(api.deps)).to.deep.equal([id]);
      expect(await api.deps.postgres.prisma.saveSlot.findUniqueOrThrow({ where: { id: slotId } })).to.include(
        { objectKey, savedBySession: id },
      );
      expect(
        (await listSaveVersions(api.deps.postgres.pool, [slotId])).map((version) => [
          version.kind,
          version.objectKey,
        ]),
      ).to.deep.equal([["played", objectKey]]);
    });
  }

  it("reaches a session behind a thousand whose slots are held", async () => {
    const { prisma } = api.deps.postgres;
    const user = await aUser(api.deps);
    const over = { slotId: null, status: "stopped", slotReleasedAt: null } as const;
    const { id: first } = await aGameSessionRow(api.deps, { user, game }, { ...over, endedAt: hoursAgo(2) });
    const row = await prisma.gameSession.findUniqueOrThrow({ where: { id: first } });
    const ids = Array.from({ length: 999 }, (_, index) => `gs-waiting-${index}`);
    // All of one moment, as after the loss of a zone.
    await prisma.gameSession.createMany({
      data: ids.map((id) => ({ ...row, id, crName: id, spec: {}, streamSummary: {} })),
    });
    const { id: last } = await aGameSessionRow(api.deps, { user, game }, { ...over, endedAt: hoursAgo(1) });
    const refused = new RefusedRows(new FakeClock());
    for (const id of [first, ...ids])
      await refused.attempt(
        id,
        () => Promise.reject(unavailable("It waits.")),
        () => undefined,
      );
    try {
      expect(await releaseSlots(api.deps, refused)).to.deep.equal([last]);
    } finally {
      await prisma.gameSession.deleteMany({ where: { userId: user.id } });
    }
  });
});

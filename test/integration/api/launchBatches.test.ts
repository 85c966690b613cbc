import { expect } from "chai";
import { DomainError } from "#api/errors.ts";
import type { LaunchToStore } from "#api/gameSessions/launching/launchBatches.ts";
import { insertSlotVersion, lockSlot } from "#api/saves/saveVersionQueries.ts";
import { aSaveSlot, aUser, type TestGame } from "#test/factories/catalog.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import type { FakeOperator } from "#test/support/cluster/fakeOperator.ts";
import { LaunchFixture } from "#test/support/fixtures/launchFixture.ts";
import type { TestApi } from "#test/support/http/api.ts";
import { expectErrorResponse, type ApiResponse } from "#test/support/http/apiClient.ts";
import { StatementLog } from "#test/support/stores/statementLog.ts";
import { lockLaunches } from "#api/saves/playerSlotQueries.ts";

describe("launches that arrive while others are stored", function () {
  this.timeout(60_000);
  let fixture: LaunchFixture;
  let api: TestApi;
  let operator: FakeOperator;
  let game: TestGame;

  beforeEach(async () => {
    fixture = await LaunchFixture.start({ slots: 0 });
    ({ api, operator, game } = fixture);
  });
  afterEach(() => fixture.stop());

  const gibibyte = 2 ** 30;

  async function addNode(slots: number, offeredBytes = 1000 * gibibyte): Promise<void> {
    const capacity = {
      slots,
      used: 0,
      schedulable: true,
      offered: { cpuMillicores: 1_000_000, memoryBytes: offeredBytes },
    };
    await operator.addNode(slots, { capacity });
    await eventually(
      () => api.deps.cluster.gameNodes.cache.list().some(({ status }) => status?.capacity !== undefined),
      { what: "the API to see the node" },
    );
  }

  async function launches(count: number): Promise<LaunchToStore[]> {
    return Promise.all(
      Array.from({ length: count }, async () => ({
        userId: (await aUser(api.deps)).id,
        launch: { gameSlug: game.slug },
      })),
    );
  }

  /** Whether a connection waits for a lock: that of all launches, or another one. */
  async function waitsFor(lock: "all launches" | "something else"): Promise<void> {
    const comparison = lock === "all launches" ? "=" : "<>";
    await eventually(
      async () =>
        (
          await api.deps.postgres.pool.query(
            `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND wait_event ${comparison} 'advisory'`,
          )
        ).rowCount !== 0,
      { what: `a launch to wait for ${lock}` },
    );
  }

  /**
   * Stores the first one, which waits for the lock of all launches until all others have come; returns what
   * each led to: nothing, or an error's code.
   */
  async function storeTogether(all: readonly LaunchToStore[]): Promise<(string | undefined)[]> {
    let stored: Promise<(string | undefined)[]> | undefined;
    await api.deps.postgres.transaction(async () => {
      stored = Promise.all(
        all.map((each) => api.deps.launchBatches.store(each).then(() => undefined, codeOf)),
      );
      await waitsFor("all launches");
    }, lockLaunches);
    return (await stored)!;
  }

  async function expectStored(all: readonly LaunchToStore[]): Promise<void> {
    const { prisma } = api.deps.postgres;
    const userIds = all.map(({ userId }) => userId).toSorted();
    expect(
      (await prisma.gameSession.findMany({ where: { gameId: game.id } }))
        .map(({ userId }) => userId)
        .toSorted(),
    ).to.deep.equal(userIds);
    expect(
      (await prisma.saveSlot.findMany({ where: { gameId: game.id } })).map(({ userId }) => userId).toSorted(),
    ).to.deep.equal(userIds);
    expect(
      (await prisma.gameLaunchDay.findMany({ where: { gameId: game.id } })).map((day) => day.launches),
    ).to.deep.equal([all.length]);
  }

  it("are stored in one transaction", async () => {
    await addNode(100);
    const all = await launches(21);
    const log = new StatementLog(api.deps.postgres.pool);
    const statements = await log.during(async () =>
      expect(await storeTogether(all)).to.deep.equal(all.map(() => undefined)),
    );
    expect(statements.filter((statement) => statement.startsWith("insert-"))).to.have.length(2);
    await expectStored(all);
  });

  it("take the last slots and no more", async () => {
    await addNode(4);
    const all = await launches(7);
    expect(await storeTogether(all)).to.deep.equal([
      undefined,
      undefined,
      undefined,
      undefined,
      "no_servers",
      "no_servers",
      "no_servers",
    ]);
    await expectStored(all.slice(0, 4));
  });

  it("take the last memory and no more", async () => {
    // A session of these takes 2 GiB with its saves at most, and more than one.
    await addNode(100, 8 * gibibyte);
    const all = await launches(12);
    const results = await storeTogether(all);
    const stored = all.filter((_, index) => results[index] === undefined);
    const needed = (await api.deps.postgres.prisma.gameSession.findMany({ where: { gameId: game.id } }))
      .map(({ spec }) => spec as unknown as { resources: { memoryBytes: number }; saveVolumeBytes: number })
      .reduce((sum, { resources, saveVolumeBytes }) => sum + resources.memoryBytes + saveVolumeBytes, 0);
    expect(needed).to.be.at.most(8 * gibibyte);
    expect(stored.length).to.be.within(2, 11);
    await expectStored(stored);
  });

  it("do not fail with one whose slot was moved, which starts from the new save", async () => {
    await addNode(100);
    const [first, a, moved, b] = (await launches(4)) as [
      LaunchToStore,
      LaunchToStore,
      LaunchToStore,
      LaunchToStore,
    ];
    const slot = await aSaveSlot(api.deps, { user: { id: moved.userId }, game });
    let stored: Promise<(string | undefined)[]> | undefined;
    await api.deps.postgres.transaction(async (transaction) => {
      await lockSlot(transaction, slot.id);
      stored = storeTogether([first, a, moved, b]);
      await waitsFor("something else");
      await insertSlotVersion(transaction, slot.id, {
        objectKey: "saves/x/imported.tar.gz",
        sha256: "c".repeat(64),
        bytes: 10,
        unpackedBytes: null,
        kind: "imported",
      });
    });
    expect(await stored).to.deep.equal([undefined, undefined, undefined, undefined]);
    await expectStored([first, a, moved, b]);
    const session = await api.deps.postgres.prisma.gameSession.findFirstOrThrow({
      where: { userId: moved.userId },
    });
    expect(session.spec).to.nested.include({
      "saveSlot.objectKey": "saves/x/imported.tar.gz",
      "saveSlot.generation": 1,
    });
  });

  describe("while a player deletes a slot that is being swept", () => {
    /**
     * Deletes a slot of another player while its row is locked as the sweeper does it, and does `work` once
     * the deletion has come upon that.
     */
    async function deletingWhileSwept(
      work: (deleting: Promise<ApiResponse>) => Promise<unknown>,
    ): Promise<ApiResponse> {
      const owner = await aUser(api.deps);
      const slot = await aSaveSlot(api.deps, { user: owner, game });
      const log = new StatementLog(api.deps.postgres.pool);
      let deleting: Promise<ApiResponse> | undefined;
      await api.deps.postgres.transaction(async (transaction) => {
        await lockSlot(transaction, slot.id, { letsLaunch: true });
        const before = log.count("lock-slot");
        deleting = api.as(owner).delete(`/api/games/${game.slug}/saves/${slot.id}`);
        await eventually(() => log.count("lock-slot") > before, {
          what: "the deletion to come upon the lock",
        });
        await work(deleting);
      });
      return (await deleting)!;
    }

    it("do not wait for the sweep, unlike the deletion", async () => {
      await addNode(1);
      const deleted = await deletingWhileSwept(async () => {
        const launched = await api
          .as(await aUser(api.deps))
          .post("/api/game/launch", { gameSlug: game.slug });
        expect(launched.status, launched.text).to.equal(202);
      });
      expect(deleted.status, deleted.text).to.equal(204);
    });

    it("let the deletion fail with a retryable error if the sweep takes long", async () => {
      const deleted = await deletingWhileSwept((deleting) => deleting);
      expectErrorResponse(deleted, 409, "slot_in_use");
      expect(deleted.headers.get("retry-after")).to.equal("5");
    });
  });

  it("do not fail with one that the database rejects or that is rolled back", async () => {
    await addNode(100);
    const [first, a, takenBack, b] = (await launches(4)) as [
      LaunchToStore,
      LaunchToStore,
      LaunchToStore,
      LaunchToStore,
    ];
    takenBack.inTransaction = () => Promise.reject(new DomainError("conflict"));
    const results = await storeTogether([
      first,
      a,
      { userId: "nobody", launch: { gameSlug: game.slug } },
      takenBack,
      b,
    ]);
    expect(results).to.deep.equal([undefined, undefined, "23503", "conflict", undefined]);
    await expectStored([first, a, b]);
  });

  it("use the version that a game got while they waited", async () => {
    await addNode(100);
    const [launch] = (await launches(1)) as [LaunchToStore];
    const { postgres } = api.deps;
    let stored: Promise<(string | undefined)[]> | undefined;
    await postgres.transaction(async (client) => {
      await client.query(
        `INSERT INTO game_versions (id, game_id, object_key, sha256, size_bytes, unpacked_size_bytes)
        SELECT 'next', game_id, 'next', sha256, size_bytes, unpacked_size_bytes FROM game_versions WHERE id = $1`,
        [game.versionId],
      );
      await client.query("UPDATE games SET current_version_id = 'next' WHERE id = $1", [game.id]);
      stored = Promise.all([api.deps.launchBatches.store(launch).then(() => undefined, codeOf)]);
      await waitsFor("something else");
    });
    expect(await stored).to.deep.equal([undefined]);
    expect(
      (
        await postgres.pool.query<{ versionId: string }>(
          'SELECT version_id AS "versionId" FROM game_sessions WHERE user_id = $1',
          [launch.userId],
        )
      ).rows,
    ).to.deep.equal([{ versionId: "next" }]);
  });
});

/** The code of one of our errors, or of the database's. */
function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : String(error);
}

import { expect } from "chai";
import { limits } from "#contracts/limits.ts";
import { updateGameSessionRunning } from "#api/gameSessions/recording/lifecycleQueries.ts";
import type { SavesResponse } from "#contracts/http/saves.ts";
import { sweepSaves } from "#api/saves/sweepSaves.ts";
import { keptAliveUntilAnnotation } from "#contracts/crd/names.ts";
import { aSaveSlot } from "#test/factories/catalog.ts";
import { sweepOverlong } from "#api/gameSessions/sessions/stopIdleSessions.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { JumpClock } from "#test/support/clocks/jumpClock.ts";
import { LaunchFixture } from "#test/support/fixtures/launchFixture.ts";
import type { TestApi } from "#test/support/http/api.ts";
import { startReplica, stopReplica } from "#test/support/http/replica.ts";

const { idleTimeoutSeconds, expiryMargin, maxDurationSeconds } = limits.gameSession;

for (const [what, skewMs] of [
  ["ten minutes ahead of", 600_000],
  ["ten minutes behind", -600_000],
] as const) {
  describe(`An API whose clock is ${what} the others'`, function () {
    this.timeout(60_000);
    let fixture: LaunchFixture;

    before(async () => {
      fixture = await LaunchFixture.start({
        clock: new JumpClock(skewMs),
        env: { SAVE_VERSIONS_KEPT: "1", SAVE_DAILY_VERSIONS_DAYS: "1" },
        hasFaults: true,
      });
    });
    beforeEach(() => fixture.newPlayer());
    after(() => fixture.stop());

    /**
     * When the operator may find the session idle, in seconds from now by the database's clock, which this
     * machine's is.
     */
    const expiresIn = async (id: string): Promise<number> =>
      (Date.parse((await fixture.operator.session(id)).spec.expiresAt ?? "") - Date.now()) / 1000;

    it("launches a session that expires by the database's clock, and extends it with keepalives", async () => {
      const id = await fixture.running();
      expect(await expiresIn(id)).to.be.closeTo(idleTimeoutSeconds * expiryMargin, 10);
      // So much time has passed by the database's clock that the object's expiry is near.
      await fixture.api.deps.postgres.pool.query(
        "UPDATE game_sessions SET idle_timeout_seconds = $2 WHERE id = $1",
        [id, idleTimeoutSeconds * 2],
      );
      expect((await fixture.player.post("/api/game/keepalive", { sessionId: id })).status).to.equal(200);
      await eventually(async () =>
        expect(await expiresIn(id)).to.be.closeTo(idleTimeoutSeconds * 2 * expiryMargin, 10),
      );
    });

    it("requests a save at a time of the database's clock, which is also the time of the stored version", async () => {
      const id = await fixture.running();
      expect((await fixture.player.post("/api/game/save", { sessionId: id })).status).to.equal(202);
      const {
        spec: { saveRequestedAt },
      } = await fixture.operator.session(id);
      expect(Date.parse(saveRequestedAt ?? "")).to.be.closeTo(Date.now(), 10_000);
    });

    it("keeps superseded saves for an hour and deleted ones for the retention, by the database's clock", async () => {
      const {
        api: { deps },
        user,
        game,
        player,
      } = fixture;
      const { prisma } = deps.postgres;
      const ago = (ms: number): Date => new Date(Date.now() - ms);
      const minuteMs = 60_000;
      const { id: slotId } = await aSaveSlot(deps, { user, game });
      const save = { slotId, kind: "imported", sha256: "a".repeat(64), bytes: 10n } as const;
      await prisma.saveSlot.update({
        where: { id: slotId },
        data: { objectKey: "saves/own", sha256: save.sha256, bytes: save.bytes, generation: 3 },
      });
      await prisma.saveVersion.createMany({
        data: [
          { ...save, objectKey: "saves/own", generation: 3, storedAt: ago(minuteMs) },
          {
            ...save,
            objectKey: "saves/kept",
            generation: 2,
            storedAt: ago(3000 * minuteMs),
            supersededAt: ago(55 * minuteMs),
          },
          {
            ...save,
            objectKey: "saves/unkept",
            generation: 1,
            storedAt: ago(3001 * minuteMs),
            supersededAt: ago(65 * minuteMs),
          },
        ],
      });
      const {
        slots: [slot],
      } = (await player.get(`/api/games/${game.slug}/saves`)).json<SavesResponse>();
      expect(slot?.versions).to.have.length(2);
      await prisma.saveSweep.deleteMany();
      const deletedAt = ago(deps.config.saves.retentionMs - 5 * minuteMs);
      await prisma.saveSweep.create({ data: { slotId: "deleted", dueAt: ago(0), slotDeletedAt: deletedAt } });
      await sweepSaves(deps);
      const { dueAt } = await prisma.saveSweep.findUniqueOrThrow({ where: { slotId: "deleted" } });
      expect(dueAt.getTime()).to.equal(deletedAt.getTime() + deps.config.saves.retentionMs);
    });
  });
}

describe("The database's clock", function () {
  this.timeout(60_000);
  let fixture: LaunchFixture;

  before(async () => {
    fixture = await LaunchFixture.start();
  });
  beforeEach(() => fixture.newPlayer());
  after(() => fixture.stop());

  for (const minutes of [10, -10]) {
    it(`determines the times of a session whose operator's clock is off by ${minutes} minutes`, async () => {
      const elsewhere = (): string => new Date(Date.now() + minutes * 60_000).toISOString();
      const id = await fixture.launched();
      await updateGameSessionRunning(fixture.api.deps.postgres.pool, id, elsewhere(), "node-a");
      await fixture.operator.makeReady(id);
      await fixture.operator.finish(id, { finishedAt: elsewhere(), readyAt: elsewhere() });
      await fixture.ended(id);
      const { startedAt, readyAt, endedAt } = await fixture.rowOf(id);
      for (const time of [readyAt, endedAt])
        expect(time?.getTime()).to.be.within(startedAt.getTime(), Date.now() + 1);
    });
  }

  it("ends a session at its maximum duration, however often its operator changed", async () => {
    const [overlong, young] = [
      await fixture.running(),
      await fixture.newPlayer().then(() => fixture.running()),
    ];
    await fixture.api.deps.postgres.prisma.gameSession.update({
      where: { id: overlong },
      data: { readyAt: new Date(Date.now() - maxDurationSeconds * 1000) },
    });
    await sweepOverlong(fixture.api.deps);
    expect(await fixture.rowOf(overlong)).to.include({ status: "stopping", stopReason: "MaxDuration" });
    expect(await fixture.rowOf(young)).to.include({ status: "running" });
  });
});

describe("An object whose expiry was written by a clock an hour ahead", function () {
  this.timeout(60_000);
  const idleTimeoutMs = idleTimeoutSeconds * 1000;
  const aheadMs = 3_600_000;
  let fixture: LaunchFixture;
  let clock: JumpClock;

  before(async () => {
    fixture = await LaunchFixture.start();
  });
  beforeEach(async () => {
    await fixture.newPlayer();
    clock = new JumpClock();
  });
  after(() => fixture.stop());

  /**
   * A session whose object has been moved by a replica whose clock is ahead, without the database; `replica`
   * has seen that.
   */
  async function sessionAhead(
    replica: TestApi,
  ): Promise<{ id: string; expiresAtMs: number; keptUntil: Date }> {
    const id = await fixture.running();
    const keptUntil = new Date(Date.now() + aheadMs + idleTimeoutMs);
    const expiresAtMs = Date.now() + aheadMs + idleTimeoutMs * expiryMargin;
    await fixture.api.deps.gameSessionWriter.extend(id, new Date(expiresAtMs), keptUntil);
    await eventually(() => replica.deps.cluster.gameSession(id)?.metadata.annotations !== undefined, {
      what: "the replica to see what the other wrote",
    });
    return { id, expiresAtMs, keptUntil };
  }

  it("is moved by a keepalive only when it has not moved for half an idle timeout", async () => {
    const replica = await startReplica(fixture.api, { clock });
    try {
      const page = replica.as(fixture.user);
      const { id, expiresAtMs } = await sessionAhead(replica);
      const keepAlive = async (): Promise<void> => {
        expect((await page.post("/api/game/keepalive", { sessionId: id })).status).to.equal(200);
      };
      for (const moves of [1, 2]) {
        await keepAlive();
        clock.jump(idleTimeoutMs / 2 + 1);
        await keepAlive();
        const moved = new Date(expiresAtMs + moves).toISOString();
        await eventually(() => replica.deps.cluster.gameSession(id)?.spec.expiresAt === moved, {
          what: `move ${moves}`,
        });
      }
    } finally {
      await stopReplica(replica);
    }
  });

  it("is moved the same way by keepalives during a database outage, and never backwards", async () => {
    const { api, operator, player } = fixture;
    const cutOff = await startReplica(api, {
      clock,
      env: { DATABASE_URL: "postgres://joypod@127.0.0.1:1/none" },
    });
    try {
      const { id, expiresAtMs, keptUntil } = await sessionAhead(cutOff);
      await player.get("/api/game/sessions"); // All replicas know the sign-in then.
      const page = api.anonymous(cutOff);
      for (const [name, value] of player.cookies) page.cookies.set(name, value);
      for (const [passedMs, moves] of [
        [0, 0],
        [idleTimeoutMs / 2 + 1, 1],
      ] as const) {
        clock.jump(passedMs);
        const kept = await page.post("/api/game/keepalive", { sessionId: id });
        expect(kept.status, kept.text).to.equal(200);
        const { spec, metadata } = await operator.session(id);
        expect(Date.parse(spec.expiresAt ?? ""), `after ${passedMs} ms`).to.equal(expiresAtMs + moves);
        expect(Date.parse(metadata.annotations?.[keptAliveUntilAnnotation] ?? "")).to.be.at.least(
          keptUntil.getTime(),
        );
      }
    } finally {
      await stopReplica(cutOff);
    }
  });
});

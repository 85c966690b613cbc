import { expect } from "chai";
import pg from "pg";
import { saveKey } from "#contracts/objectKeys.ts";
import {
  insertLateSave,
  insertSlotVersion,
  listSaveVersions,
  lockSlot,
  type SaveVersion,
} from "#api/saves/saveVersionQueries.ts";
import { sweepSaves } from "#api/saves/sweepSaves.ts";
import { updateSlotSave } from "#api/gameSessions/recording/slotQueries.ts";
import { deleteSweep, lockDueSweep } from "#api/saves/saveSweepQueries.ts";
import {
  aGame,
  aGameSessionRow,
  aSaveSlot,
  aUser,
  type TestGame,
  type TestUser,
} from "#test/factories/catalog.ts";
import { aTarGz } from "#test/factories/tarArchive.ts";
import { TestApi } from "#test/support/http/api.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import type { TestMinio } from "#test/support/stores/minio.ts";
import { createTestDatabase } from "#test/support/stores/postgres.ts";

const hourMs = 3600_000;
const dayMs = 24 * hourMs;

describe("sweepSaves", function () {
  this.timeout(60_000);
  let api: TestApi;
  let minio: TestMinio;
  let user: TestUser;
  let game: TestGame;
  let slotId: string;
  let owner: string | undefined;

  before(async () => {
    api = await TestApi.start({
      minio: true,
      hasFaults: true,
      env: { SAVE_VERSIONS_KEPT: "2", SAVE_DAILY_VERSIONS_DAYS: "3" },
    });
    minio = api.minio!;
    game = await aGame(api.deps);
  });
  beforeEach(async () => {
    user = await aUser(api.deps);
    ({ id: slotId } = await aSaveSlot(api.deps, { user, game }));
    owner = undefined;
  });
  afterEach(() => api.deps.postgres.prisma.saveSweep.deleteMany());
  after(() => api.stop());

  function sessionId(name: string): string {
    return `gs-${name}-${slotId.slice(0, 8)}`;
  }

  /** Lets an ended session own the slot, and no other; nobody owns it without a name. */
  async function own(name?: string): Promise<void> {
    const { prisma } = api.deps.postgres;
    if (name === owner) return;
    await prisma.gameSession.updateMany({ where: { slotId }, data: { slotReleasedAt: new Date() } });
    const over = { slotId, status: "stopped", endedAt: new Date(), slotReleasedAt: null } as const;
    if (name !== undefined) await aGameSessionRow(api.deps, { user, game }, { id: sessionId(name), ...over });
    owner = name;
  }

  /**
   * What a node agent does with a save, and the recorder, the slot pointing to it afterwards; returns its
   * name in the slot.
   */
  async function save(
    generation: number,
    session: string,
    sequence: number,
    {
      isRecorded = true,
      attempt = 1,
      content,
    }: { isRecorded?: boolean; attempt?: number; content?: Buffer } = {},
  ): Promise<string> {
    const name = { generation, gameSession: sessionId(session), sequence, attempt };
    const objectKey = saveKey(slotId, name);
    await minio.client.putObject(minio.bucket, objectKey, content ?? Buffer.from(objectKey));
    const stored = {
      objectKey,
      sha256: "a".repeat(64),
      bytes: 10,
      generation,
      sequence,
      persistedAt: new Date().toISOString(),
      final: false,
    };
    if (isRecorded) {
      await own(session);
      expect(await updateSlotSave(api.deps.postgres.pool, slotId, name.gameSession, stored)).to.equal(
        "moved",
      );
    }
    return shortNameOf(objectKey);
  }

  function shortNameOf(objectKey: string): string {
    return objectKey
      .slice(`saves/${slotId}/`.length, -".tar.gz".length)
      .replace(`-${slotId.slice(0, 8)}`, "");
  }

  async function saves(): Promise<string[]> {
    const items = (await minio.client.listObjectsV2(minio.bucket, `saves/${slotId}/`, true).toArray()) as {
      name: string;
    }[];
    return items.map(({ name }) => shortNameOf(name)).toSorted();
  }

  async function versions(): Promise<(SaveVersion & { name: string })[]> {
    const all = await listSaveVersions(api.deps.postgres.pool, [slotId]);
    return all.map((version) => ({ ...version, name: shortNameOf(version.objectKey) }));
  }

  async function age(objectName: string, days: number): Promise<void> {
    const version = (await versions()).find(({ name }) => name === objectName);
    const past =
      "stored_at = stored_at - make_interval(secs => $2), superseded_at = superseded_at - make_interval(secs => $2)";
    await api.deps.postgres.pool.query(`UPDATE save_versions SET ${past} WHERE id = $1`, [
      version?.id,
      days * 86_400,
    ]);
  }

  function findSweep() {
    return api.deps.postgres.prisma.saveSweep.findUnique({ where: { slotId } });
  }

  /** As if it were later by so much: what was due by then is due now. */
  async function sweep(laterMs: number): Promise<void> {
    const until = new Date(Date.now() + laterMs);
    await api.deps.postgres.prisma.saveSweep.updateMany({
      where: { dueAt: { lte: until } },
      data: { dueAt: new Date() },
    });
    await sweepSaves(api.deps, () => Promise.resolve(until));
  }

  function hasLogged(sentence: string): boolean {
    return api.logLines.some((line) => line.includes(sentence) && line.includes(slotId));
  }

  it("removes the superseded saves of a session, and keeps its last one", async () => {
    await save(1, "a", 1);
    expect(await findSweep(), "nothing is superseded by the first").to.be.null;
    const first = [await save(1, "a", 2), await save(1, "a", 3)].at(-1)!;
    await save(2, "b", 1);
    const last = await save(2, "b", 2);
    const coming = await save(2, "b", 3, { isRecorded: false });
    await sweep(2 * hourMs);
    expect(await saves()).to.deep.equal([first, last, coming]);
    expect((await findSweep())!.dueAt.getTime() - Date.now(), "the session may go on").to.be.within(
      2.9 * hourMs,
      3.1 * hourMs,
    );
    await own();
    await minio.client.removeObject(
      minio.bucket,
      saveKey(slotId, { generation: 2, gameSession: sessionId("b"), sequence: 3, attempt: 1 }),
    );
    await sweep(4 * hourMs);
    expect((await findSweep())!.dueAt.getTime() - Date.now(), "age changes what is kept").to.be.within(
      27 * hourMs,
      29 * hourMs,
    );
    expect((await versions()).map(({ name, supersededAt }) => [name, supersededAt === null])).to.deep.equal([
      [last, true],
      [first, false],
    ]);
  });

  it("prefers the later attempt if two saves have the same sequence, and removes the earlier attempt's saves", async () => {
    await save(1, "a", 1, { attempt: 1 });
    const later = await save(1, "a", 1, { attempt: 2 });
    await sweep(2 * hourMs);
    expect(await saves()).to.deep.equal([later]);
  });

  it("keeps saves that may still be read: for an hour after the slot has moved on, however old they are", async () => {
    const all = [await save(1, "a", 1), await save(1, "a", 2)];
    await api.deps.postgres.prisma.saveSweep.updateMany({ data: { dueAt: new Date() } });
    await sweep(0);
    expect(await saves()).to.deep.equal(all);
    // Two hours later the session saves again. By the database's clock that is a moment ago.
    const third = await save(1, "a", 3);
    await api.deps.postgres.pool.query(
      "UPDATE save_versions SET stored_at = now() + interval '2 hours' WHERE slot_id = $1",
      [slotId],
    );
    await sweep(2 * hourMs);
    expect(await saves(), "of which the sweep an hour before had seen the slot move on").to.deep.equal([
      all[1],
      third,
    ]);
    await sweep(3 * hourMs + 60_000);
    expect(await saves()).to.deep.equal([third]);
  });

  it("keeps the slot's last versions, the last one of each earlier day, and recent conflict copies", async () => {
    const names: Record<string, string> = {};
    for (const [index, session] of ["a", "b", "c", "d", "e", "f"].entries())
      names[session] = await save(index + 1, session, 1);
    await own();
    const late = {
      slotId,
      sha256: "a".repeat(64),
      bytes: 10,
      unpackedBytes: null,
      generation: 1,
      sequence: 9,
      attempt: 1,
    };
    for (const session of ["early", "lately"]) {
      const key =
        `saves/${slotId}/${await save(1, session, 9, { isRecorded: false })}`.replace(
          /gs-[a-z]+/,
          sessionId(session),
        ) + ".tar.gz";
      await insertLateSave(api.deps.postgres.pool, {
        ...late,
        gameSession: sessionId(session),
        objectKey: key,
      });
      names[session] = shortNameOf(key);
    }
    // The last two stay as such; of each day before one does.
    const ages = { f: 0, e: 0.001, d: 2, c: 2.0001, b: 2.9, a: 4, early: 8, lately: 6.9 } as const;
    for (const [session, days] of Object.entries(ages)) await age(names[session]!, days);
    await sweep(2 * hourMs);
    const kept = (await versions()).map(({ name }) => name);
    expect(kept)
      .to.include.members([names.f, names.e, names.d, names.lately])
      .and.not.include.members([names.a, names.early]);
    expect(kept.filter((name) => name === names.c)).to.have.length(utcDay(ages.c) === utcDay(ages.d) ? 0 : 1);
    expect(await saves()).to.deep.equal(kept.toSorted());
  });

  it("keeps an object while any version references it", async () => {
    const [old] = [await save(1, "a", 1), await save(2, "b", 1), await save(3, "c", 1)];
    await own();
    const { postgres } = api.deps;
    const earlier = (await versions()).find(({ name }) => name === old)!;
    await postgres.transaction(async (transaction) => {
      await lockSlot(transaction, slotId);
      await insertSlotVersion(transaction, slotId, { ...earlier, kind: "restored" });
    });
    const last = await save(5, "d", 1);
    await own();
    await postgres.pool.query(
      "UPDATE save_versions SET stored_at = stored_at - interval '40 days', superseded_at = superseded_at - interval '40 days' WHERE slot_id = $1 AND kind = 'played' AND superseded_at IS NOT NULL",
      [slotId],
    );
    await sweep(2 * hourMs);
    expect((await versions()).map(({ kind, name }) => [kind, name])).to.deep.equal([
      ["played", last],
      ["restored", old],
    ]);
    expect(await saves()).to.deep.equal([old, last]);
  });

  it("keeps an unrecorded save as a conflict copy if its session does not own the slot", async () => {
    const own1 = await save(1, "a", 1);
    await save(1, "late", 1, { isRecorded: false });
    const lost = await save(1, "late", 2, { isRecorded: false });
    const awaited = await save(1, "a", 2, { isRecorded: false });
    await api.deps.postgres.prisma.saveSweep.create({ data: { slotId, dueAt: new Date() } });
    await sweep(0);
    expect(
      (await versions()).map(({ name }) => name),
      "its report may still come",
    ).to.deep.equal([own1]);
    await sweep(2 * hourMs);
    expect((await versions()).map(({ kind, name }) => [kind, name])).to.have.deep.members([
      ["played", own1],
      ["conflict", lost],
    ]);
    expect(await saves()).to.include.members([lost, own1, awaited]);
    expect(hasLogged("The sweeper found an unrecorded save")).to.be.true;
    await own();
    await sweep(4 * hourMs);
    expect((await versions()).map(({ kind, name }) => [kind, name])).to.have.deep.members([
      ["played", own1],
      ["conflict", lost],
      ["conflict", awaited],
    ]);
    expect(await saves()).to.have.members([lost, own1, awaited]);
  });

  it("counts the unpacked size of an unrecorded save, and keeps it even if it is not an archive", async () => {
    await save(1, "a", 1);
    await own();
    const whole = aTarGz([
      { name: "world/", mode: 0o755 },
      { name: "world/map.dat", body: Buffer.alloc(100_000) },
      { name: "slot.dat", body: "1" },
    ]);
    const names = [];
    for (const [session, content] of [
      ["whole", whole],
      ["cut", whole.subarray(0, -10)],
      ["other", aTarGz([{ name: "../outside", body: "1" }])],
      ["empty", Buffer.alloc(0)],
    ] as const) {
      names.push(await save(1, session, 1, { isRecorded: false, content }));
    }
    await sweep(2 * hourMs);
    const found = (await versions())
      .filter(({ kind }) => kind === "conflict")
      .map(({ name, unpackedBytes }) => [name, unpackedBytes]);
    expect(found).to.have.deep.members(names.map((name, index) => [name, index === 0 ? 26 * 4096 : null]));
  });

  it("keeps an upload as a conflict copy after the database was restored from an older backup", async () => {
    const { prisma } = api.deps.postgres;
    const played = await save(1, "a", 1);
    await own();
    const slot = await prisma.saveSlot.findUniqueOrThrow({ where: { id: slotId } });
    const response = await api
      .as(user)
      .post(
        `/api/games/${game.slug}/saves/${slotId}/archive`,
        aTarGz([{ name: "slot.dat", body: "progress" }]),
        { "content-type": "application/gzip" },
      );
    expect(response.status).to.equal(200);
    const [uploaded] = (await saves()).filter((name) => name !== played);
    await prisma.$transaction([
      prisma.saveVersion.deleteMany({ where: { slotId, kind: "imported" } }),
      prisma.saveVersion.updateMany({ where: { slotId }, data: { supersededAt: null } }),
      prisma.saveSlot.update({ where: { id: slotId }, data: slot }),
    ]);
    await sweep(26 * hourMs);
    expect(await saves()).to.have.members([played, uploaded]);
    expect((await versions()).map(({ kind, name }) => [kind, name])).to.have.deep.members([
      ["played", played],
      ["conflict", uploaded],
    ]);
  });

  it("finds the first save of a slot even if it arrived unreported after its session had released the slot", async () => {
    const late = { isRecorded: false } as const;
    await own("lost");
    await own();
    await sweep(2 * hourMs);
    const first = await save(1, "lost", 1, late);
    await sweep(26 * hourMs + 1);
    expect((await versions()).map(({ kind, name }) => [kind, name])).to.deep.equal([["conflict", first]]);
  });

  it("keeps the saves of a deleted slot for the retention, and removes later ones", async () => {
    const all = [await save(1, "a", 1), await save(2, "b", 1)];
    await api.deps.postgres.prisma.user.delete({ where: { id: user.id } });
    await sweep(0);
    await sweep(6 * dayMs);
    expect(await saves()).to.deep.equal(all);
    await sweep(7 * dayMs + hourMs);
    expect(await saves()).to.be.empty;
    expect(await versions()).to.be.empty;
    const late = await save(3, "c", 1, { isRecorded: false });
    await sweep(29 * dayMs);
    expect(await saves(), "while a node that was unavailable may bring more").to.deep.equal([late]);
    await sweep(31 * dayMs);
    expect(await saves()).to.be.empty;
    expect(await findSweep()).to.be.null;
  });

  it("skips a slot whose row is missing without a deletion", async () => {
    const kept = [await save(1, "a", 1), await save(1, "a", 2)];
    const { pool } = api.deps.postgres;
    // As after the restoration of some tables only: no row was deleted, so no trigger noted it.
    await pool.query(
      "BEGIN; SET LOCAL session_replication_role = replica; DELETE FROM save_slots WHERE id = '" +
        slotId +
        "'; COMMIT",
    );
    await sweep(30 * dayMs);
    expect(await saves()).to.deep.equal(kept);
    expect(hasLogged("A slot is missing although nobody deleted it")).to.be.true;
    expect(await findSweep(), "it is looked at again").to.not.be.null;
  });

  it("reports a slot whose save is missing, and removes none of its saves", async () => {
    const kept = await save(1, "a", 1);
    await save(2, "b", 1);
    await minio.client.removeObject(
      minio.bucket,
      saveKey(slotId, { generation: 2, gameSession: sessionId("b"), sequence: 1, attempt: 1 }),
    );
    await sweep(30 * dayMs);
    expect(await saves()).to.deep.equal([kept]);
    expect(hasLogged("A slot's save is not in the object store.")).to.be.true;
  });

  it("gives each slot to one sweeper at a time, and does not miss a concurrent change", async () => {
    const { pool, prisma } = api.deps.postgres;
    await save(1, "a", 1);
    await save(1, "a", 2);
    await prisma.saveSweep.updateMany({ data: { dueAt: new Date(Date.now() - 1000) } });
    const [one, other] = await Promise.all([lockDueSweep(pool), lockDueSweep(pool)]);
    expect([one, other].filter((claim) => claim !== undefined)).to.have.length(1);
    await save(1, "a", 3);
    await deleteSweep(pool, (one ?? other)!);
    expect(await findSweep()).to.not.be.null;
  });

  it("runs on the leader", async () => {
    const database = await createTestDatabase();
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    await client.query(
      "INSERT INTO save_sweeps (slot_id, due_at, slot_deleted_at) VALUES ('gone', now(), now() - interval '40 days')",
    );
    const leader = await TestApi.start({ kube: true, minio: true, database });
    try {
      await eventually(async () => (await client.query("SELECT FROM save_sweeps")).rowCount === 0, {
        what: "the sweep",
      });
    } finally {
      await leader.stop();
      await client.end();
      await database.drop();
    }
  });
});

/** The day, in UTC, of what is so many days old. */
function utcDay(days: number): number {
  return Math.floor((Date.now() - days * dayMs) / dayMs);
}

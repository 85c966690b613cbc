import { expect } from "chai";
import pg from "pg";
import { saveKey } from "#contracts/objectKeys.ts";
import { sweepSaves } from "#api/saves/sweepSaves.ts";
import { updateSlotSave } from "#api/gameSessions/saveSlotQueries.ts";
import { deleteSweep, lockDueSweep } from "#api/saves/saveSweepQueries.ts";
import { aGame, aSaveSlot, aUser, type TestGame, type TestUser } from "../../factories/catalog.ts";
import { TestApi } from "../../support/http/api.ts";
import { eventually } from "../../support/clocks/eventually.ts";
import type { TestMinio } from "../../support/stores/minio.ts";
import { createTestDatabase } from "../../support/stores/postgres.ts";

const hourMs = 3600_000;
const dayMs = 24 * hourMs;

describe("sweepSaves", function () {
  this.timeout(60_000);
  let api: TestApi;
  let minio: TestMinio;
  let user: TestUser;
  let game: TestGame;
  let slotId: string;

  before(async () => {
    api = await TestApi.start({ minio: true, hasFaults: true });
    minio = api.minio!;
    game = await aGame(api.deps);
  });
  beforeEach(async () => {
    user = await aUser(api.deps);
    ({ id: slotId } = await aSaveSlot(api.deps, { user, game }));
  });
  afterEach(() => api.deps.postgres.prisma.saveSweep.deleteMany());
  after(() => api.stop());

  /** What node agent and recorder do with a save, the slot pointing to it afterwards; returns its name in the slot. */
  async function save(generation: number, session: string, sequence: number, { isRecorded = true, attempt = 1 } = {}): Promise<string> {
    const objectKey = saveKey(slotId, { generation, gameSession: session, sequence, attempt });
    await minio.client.putObject(minio.bucket, objectKey, Buffer.from(objectKey));
    const stored = { objectKey, sha256: "a".repeat(64), bytes: 10, generation, sequence, persistedAt: new Date().toISOString(), final: false };
    if (isRecorded) expect(await updateSlotSave(api.deps.postgres.pool, slotId, session, stored)).to.equal("moved");
    return `${generation}-${session}-${sequence}.${attempt}`;
  }

  async function saves(): Promise<string[]> {
    const items = await minio.client.listObjectsV2(minio.bucket, `saves/${slotId}/`, true).toArray() as { name: string }[];
    return items.map(({ name }) => name.slice(`saves/${slotId}/`.length, -".tar.gz".length)).toSorted();
  }

  function findSweep() {
    return api.deps.postgres.prisma.saveSweep.findUnique({ where: { slotId } });
  }

  /** As if it were later by so much: what was due by then is due now. */
  async function sweep(laterMs: number): Promise<void> {
    const until = new Date(Date.now() + laterMs);
    await api.deps.postgres.prisma.saveSweep.updateMany({ where: { dueAt: { lte: until } }, data: { dueAt: new Date() } });
    await sweepSaves({ ...api.deps, clock: { ...api.deps.clock, now: () => until } });
  }

  it("removes what later saves of a session superseded, and in time what earlier sessions left", async () => {
    await save(1, "gs-a", 1);
    expect(await findSweep(), "nothing is superseded by the first").to.be.null;
    const first = [await save(1, "gs-a", 2), await save(1, "gs-a", 3)].at(-1)!;
    await save(2, "gs-b", 1);
    const last = await save(2, "gs-b", 2);
    const coming = await save(2, "gs-b", 3, { isRecorded: false });
    await sweep(2 * hourMs);
    expect(await saves()).to.deep.equal([first, last, coming]);
    expect((await findSweep())!.dueAt.getTime() - Date.now()).to.be.within(7 * dayMs - hourMs, 7 * dayMs + hourMs);
    await sweep(6 * dayMs);
    expect(await saves()).to.deep.equal([first, last, coming]);
    await sweep(8 * dayMs);
    expect(await saves()).to.deep.equal([last, coming]);
    expect(await findSweep()).to.be.null;
  });

  it("prefers the packer's later attempt where two have the same sequence, and removes the earlier one's saves", async () => {
    await save(1, "gs-a", 1, { attempt: 1 });
    const later = await save(1, "gs-a", 1, { attempt: 2 });
    await sweep(2 * hourMs);
    expect(await saves()).to.deep.equal([later]);
  });

  it("keeps saves that a session may still be reading", async () => {
    const all = [await save(1, "gs-a", 1), await save(1, "gs-a", 2)];
    await sweep(0);
    expect(await saves()).to.deep.equal(all);
  });

  it("removes all saves of a slot that is gone, and those that came late", async () => {
    await save(1, "gs-a", 1);
    await save(2, "gs-b", 1);
    await api.deps.postgres.prisma.user.delete({ where: { id: user.id } });
    await sweep(0);
    expect(await saves()).to.be.empty;
    await save(2, "gs-b", 2, { isRecorded: false });
    await sweep(26 * hourMs);
    expect(await saves()).to.be.empty;
    expect(await findSweep()).to.be.null;
  });

  it("reports a slot whose save is missing, and removes none of its saves", async () => {
    const kept = await save(1, "gs-a", 1);
    await save(2, "gs-b", 1);
    await minio.client.removeObject(minio.bucket, saveKey(slotId, { generation: 2, gameSession: "gs-b", sequence: 1, attempt: 1 }));
    await sweep(30 * dayMs);
    expect(await saves()).to.deep.equal([kept]);
    expect(api.logLines.some((line) => line.includes("A slot's save is not in the object store.") && line.includes(slotId))).to.be.true;
  });

  it("gives each slot to one sweeper at a time, and forgets no change that comes meanwhile", async () => {
    const { pool, prisma } = api.deps.postgres;
    await save(1, "gs-a", 1);
    await save(1, "gs-a", 2);
    await prisma.saveSweep.updateMany({ data: { dueAt: new Date(Date.now() - 1000) } });
    const [one, other] = await Promise.all([lockDueSweep(pool), lockDueSweep(pool)]);
    expect([one, other].filter((claim) => claim !== undefined)).to.have.length(1);
    await save(1, "gs-a", 3);
    await deleteSweep(pool, (one ?? other)!);
    expect(await findSweep()).to.not.be.null;
  });

  it("runs on the leading process", async () => {
    const database = await createTestDatabase();
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    await client.query("INSERT INTO save_sweeps (slot_id, due_at, slot_deleted_at) VALUES ('gone', now(), now() - interval '30 hours')");
    const leader = await TestApi.start({ kube: true, minio: true, database });
    try {
      await eventually(async () => (await client.query("SELECT FROM save_sweeps")).rowCount === 0, { what: "the sweep" });
    } finally {
      await leader.stop();
      await client.end();
      await database.drop();
    }
  });
});

import { expect } from "chai";
import { scrubSaves, reportUnreadableSaves } from "#api/saves/scrubSaves.ts";
import { systemClock, type Clock } from "#runtime/scheduling/clock.ts";
import { aGame, aUser } from "#test/factories/catalog.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { FakeClock } from "#test/support/clocks/fakeClock.ts";
import { SavesFixture } from "#test/support/fixtures/savesFixture.ts";

describe("scrubSaves", function () {
  this.timeout(60_000);
  let fixture: SavesFixture;
  let slotId: string;
  const never = new AbortController().signal;
  const scrub = { intervalSeconds: 3600, bytesPerSecond: 2 ** 30 };

  before(async () => {
    // The leader of this API does not scrub: the test does.
    fixture = await SavesFixture.start({ env: { SAVE_SCRUB_HOURS: "0" } });
  });
  beforeEach(async () => {
    await fixture.launches.newPlayer();
    slotId = await fixture.aSlot();
    await fixture.api.deps.postgres.prisma.saveVersion.deleteMany();
  });
  after(() => fixture.stop());

  async function pass(
    options: Partial<typeof scrub> = {},
    { signal = never, clock = systemClock }: { signal?: AbortSignal; clock?: Clock } = {},
  ): Promise<void> {
    const { config, ...deps } = fixture.api.deps;
    await scrubSaves(
      { ...deps, clock, config: { saves: { ...config.saves, scrub: { ...scrub, ...options } } } },
      signal,
    );
  }

  const tell = (): Promise<void> => reportUnreadableSaves(fixture.api.deps);

  async function metric(name: string): Promise<string[]> {
    return (await fixture.api.deps.metrics.registry.metrics())
      .split("\n")
      .filter((line) => line.startsWith(name));
  }

  /** How many saves have been checked, whatever they were found to be. */
  async function checks(): Promise<number> {
    return (await metric("joypod_save_checks_total")).reduce(
      (sum, line) => sum + Number(line.split(" ").at(-1)),
      0,
    );
  }

  it("finds and reports missing and damaged saves, and notices when one is intact again", async () => {
    const whole = await fixture.aVersion(slotId, "one");
    const damaged = await fixture.aVersion(slotId, "two", { stored: whole.archive });
    const missing = await fixture.aVersion(slotId, "three");
    await fixture.minio.client.removeObject(fixture.minio.bucket, missing.objectKey);
    await pass();
    const readable = async (): Promise<unknown> =>
      (await fixture.slot(slotId)).versions.map(({ id, isReadable }) => [id, isReadable]);
    expect(await readable()).to.deep.equal([
      [missing.id, false],
      [damaged.id, false],
      [whole.id, true],
    ]);
    await tell();
    expect(await metric("joypod_saves_unreadable ")).to.deep.equal(["joypod_saves_unreadable 2"]);
    expect(
      fixture.api.logLines.filter((line) => line.includes("A save is unreadable.") && line.includes(slotId)),
    ).to.have.length(2);
    await fixture.minio.client.putObject(fixture.minio.bucket, missing.objectKey, missing.archive);
    await fixture.api.deps.postgres.prisma.saveVersion.updateMany({
      where: { slotId },
      data: { checkDueAt: new Date(0) },
    });
    await pass();
    expect(await readable()).to.deep.equal([
      [missing.id, true],
      [damaged.id, false],
      [whole.id, true],
    ]);
    await tell();
    expect(await metric("joypod_saves_unreadable ")).to.deep.equal(["joypod_saves_unreadable 1"]);
  });

  it("reads each save once when it is due, and continues where it was stopped", async () => {
    const { prisma } = fixture.api.deps.postgres;
    const one = await fixture.aVersion(slotId, "one");
    const two = await fixture.aVersion(slotId, "two");
    const dueCount = (): Promise<number> =>
      prisma.saveVersion.count({ where: { checkDueAt: { lte: new Date() } } });
    await pass({}, { signal: AbortSignal.abort() });
    expect(await dueCount()).to.equal(2);
    const before = await checks();
    // At one byte a second of a clock that is moved by hand, the pass gets through one save and is stopped in
    // the midst of the other.
    const clock = new FakeClock();
    const stopping = new AbortController();
    const logged = fixture.api.logLines.length;
    const stopped = pass({ bytesPerSecond: 1 }, { signal: stopping.signal, clock });
    await eventually(() => clock.pendingTimers === 1, { what: "a pause in the first save" });
    await clock.advance(1_000 * Math.max(one.archive.length, two.archive.length));
    await eventually(async () => clock.pendingTimers === 1 && (await dueCount()) === 1, {
      what: "a pause in the second save",
    });
    stopping.abort();
    await stopped;
    expect(await dueCount(), "checks that are due").to.equal(1);
    expect(await checks()).to.equal(before + 1);
    expect(fixture.api.logLines.slice(logged).filter((line) => line.includes("could not be checked"))).to.be
      .empty;
    await pass();
    expect(await checks()).to.equal(before + 2);
    await pass();
    expect(await checks()).to.equal(before + 2);
    expect(
      await prisma.saveVersion.count({ where: { checkDueAt: { gt: new Date(Date.now() + 3_500_000) } } }),
    ).to.equal(2);
  });

  it("continues with other saves if one is replaced while it is read, like that of a running session", async () => {
    const { prisma } = fixture.api.deps.postgres;
    const played = await fixture.aVersion(slotId, "played");
    const other = await fixture.aVersion(slotId, "other");
    await prisma.saveVersion.update({ where: { id: played.id }, data: { checkDueAt: new Date(0) } });
    const clock = new FakeClock();
    const before = await checks();
    const passed = pass({ bytesPerSecond: 1 }, { clock });
    await eventually(() => clock.pendingTimers === 1, { what: "a pause in the first save" });
    await prisma.saveVersion.update({
      where: { id: played.id },
      data: { objectKey: `${played.objectKey}-next` },
    });
    await clock.advance(1_000 * played.archive.length);
    await eventually(() => clock.pendingTimers === 1, { what: "a pause in the other save" });
    await clock.advance(1_000 * other.archive.length);
    await passed;
    expect(await checks()).to.equal(before + 2);
    expect(await prisma.saveVersion.count({ where: { slotId, checkDueAt: { lte: new Date() } } })).to.equal(
      0,
    );
  });

  it("keeps to the configured rate", async () => {
    const { archive } = await fixture.aVersion(slotId, "one");
    const startedMs = performance.now();
    await pass({ bytesPerSecond: archive.length * 2 });
    expect(performance.now() - startedMs).to.be.at.least(490);
  });

  it("marks no save while the object store is unavailable, and retries within the hour", async () => {
    const { prisma } = fixture.api.deps.postgres;
    await fixture.aVersion(slotId, "one");
    await fixture.minio.stop();
    try {
      await pass({ intervalSeconds: 86_400 });
    } finally {
      await fixture.minio.start();
    }
    const [version] = await prisma.saveVersion.findMany({ where: { slotId } });
    expect(version!.unreadableAt).to.be.null;
    expect(version!.checkDueAt.getTime() - Date.now()).to.be.within(1, 3_600_000);
  });

  it("reads the saves of every player", async () => {
    const { deps } = fixture.api;
    const other = await deps.postgres.prisma.saveSlot.create({
      data: {
        userId: (await aUser(deps)).id,
        gameId: (await aGame(deps)).id,
        number: 3,
        label: "Playthrough 3",
      },
    });
    const { id } = await fixture.aVersion(other.id, "theirs", { stored: Buffer.from("rotten") });
    await pass();
    expect((await deps.postgres.prisma.saveVersion.findUniqueOrThrow({ where: { id } })).unreadableAt).to.not
      .be.null;
  });
});

import { expect } from "chai";
import { scrubSaves } from "#api/saves/scrubSaves.ts";
import { aGame, aUser } from "../../factories/catalog.ts";
import { SavesFixture } from "../../support/fixtures/savesFixture.ts";

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

  async function pass(options: Partial<typeof scrub> = {}, signal = never): Promise<void> {
    const { config, ...deps } = fixture.api.deps;
    await scrubSaves({ ...deps, config: { saves: { ...config.saves, scrub: { ...scrub, ...options } } } }, signal);
  }

  async function metric(name: string): Promise<string[]> {
    return (await fixture.api.deps.metrics.registry.metrics()).split("\n").filter((line) => line.startsWith(name));
  }

  it("finds what is missing or damaged, tells it, and notices what is whole again", async () => {
    const whole = await fixture.aVersion(slotId, "one");
    const damaged = await fixture.aVersion(slotId, "two", { stored: whole.archive });
    const missing = await fixture.aVersion(slotId, "three");
    await fixture.minio.client.removeObject(fixture.minio.bucket, missing.objectKey);
    await pass();
    const readable = async (): Promise<unknown> => (await fixture.slot(slotId)).versions.map(({ id, isReadable }) => [id, isReadable]);
    expect(await readable()).to.deep.equal([[missing.id, false], [damaged.id, false], [whole.id, true]]);
    expect(await metric("joypod_saves_unreadable ")).to.deep.equal(["joypod_saves_unreadable 2"]);
    expect(fixture.api.logLines.filter((line) => line.includes("A save is unreadable.") && line.includes(slotId))).to.have.length(2);
    await fixture.minio.client.putObject(fixture.minio.bucket, missing.objectKey, missing.archive);
    await fixture.api.deps.postgres.prisma.saveVersion.updateMany({ where: { slotId }, data: { checkDueAt: new Date(0) } });
    await pass();
    expect(await readable()).to.deep.equal([[missing.id, true], [damaged.id, false], [whole.id, true]]);
    expect(await metric("joypod_saves_unreadable ")).to.deep.equal(["joypod_saves_unreadable 1"]);
  });

  it("reads each save once in its time, and goes on where it was stopped", async () => {
    const { prisma } = fixture.api.deps.postgres;
    await fixture.aVersion(slotId, "one");
    await fixture.aVersion(slotId, "two");
    await pass({}, AbortSignal.abort());
    expect(await prisma.saveVersion.count({ where: { checkDueAt: { gt: new Date() } } })).to.equal(0);
    const before = await metric("joypod_save_checks_total");
    await pass();
    const after = await metric("joypod_save_checks_total");
    expect(after).to.not.deep.equal(before);
    await pass();
    expect(await metric("joypod_save_checks_total")).to.deep.equal(after);
    expect(await prisma.saveVersion.count({ where: { checkDueAt: { gt: new Date(Date.now() + 3_500_000) } } })).to.equal(2);
  });

  it("keeps to its pace", async () => {
    const { archive } = await fixture.aVersion(slotId, "one");
    const startedMs = performance.now();
    await pass({ bytesPerSecond: archive.length * 2 });
    expect(performance.now() - startedMs).to.be.at.least(490);
  });

  it("blames no save while the object store is away, and tries again within the hour", async () => {
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
    const other = await deps.postgres.prisma.saveSlot.create({ data: { userId: (await aUser(deps)).id, gameId: (await aGame(deps)).id, number: 3, label: "Playthrough 3" } });
    const { id } = await fixture.aVersion(other.id, "theirs", { stored: Buffer.from("rotten") });
    await pass();
    expect((await deps.postgres.prisma.saveVersion.findUniqueOrThrow({ where: { id } })).unreadableAt).to.not.be.null;
  });
});

import { randomBytes } from "node:crypto";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import type { ArchiveSource } from "#contracts/crd/gameCache.ts";
import type { Condition } from "#contracts/crd/kind.ts";
import { limits } from "#contracts/limits.ts";
import { contentDirectory, objectDirectory, spoolNames } from "#contracts/nodeLayout.ts";
import { aGameTar, aTarGz } from "#test/factories/tarArchive.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import type { SmallDisk } from "#test/support/disks/smallDisk.ts";
import { beforeEachWithNodeAgent, type NodeAgentFixture } from "#test/support/fixtures/nodeAgentFixture.ts";
import { ageGame, putOnSmallDisk } from "#test/support/fixtures/nodeDisk.ts";
import { sha256Of, storeArchive } from "#test/support/stores/storedArchive.ts";

const mebibyte = 2 ** 20;

describe("Node agent: a full disk", function () {
  this.timeout(90_000);
  let fixture: NodeAgentFixture;
  let disk: SmallDisk;

  beforeEachWithNodeAgent(async (fresh) => {
    fixture = fresh;
    await fixture.createGameNode();
  });

  /** The GameNode's condition, once it has the reason. */
  const nodeCondition = (type: string, reason: string): Promise<Condition> =>
    eventually(
      async () =>
        (await fixture.gameNode()).status?.conditions?.find(
          (found) => found.type === type && found.reason === reason,
        ),
      { timeoutMs: 30_000, what: `${type} with ${reason}` },
    );
  const pin = (source: ArchiveSource, pinned: boolean) =>
    fixture.nodes.mergePatch(
      { name: fixture.node },
      { spec: { desired: [{ digest: source.sha256, source, priority: 0, pinned, hold: false }] } },
    );
  const entry = (source: ArchiveSource, state: string) =>
    eventually(
      async () =>
        (await fixture.gameNode()).status?.cache?.entries.some(
          (found) => found.digest === source.sha256 && found.state === state,
        ),
      { timeoutMs: 30_000, what: `a game that is ${state}` },
    );
  const leftovers = (): string[] => readdirSync(join(fixture.root, "v1/tmp"));

  it("rejects a launch with a reason, leaves nothing partly unpacked, and serves it automatically once there is space", async () => {
    disk = await putOnSmallDisk(fixture, { megabytes: 128 });
    await fixture.startAgent();
    disk.fill(4 * mebibyte);
    const source = await fixture.createGame(8 * mebibyte);
    const name = await fixture.launch(source);
    await fixture.condition(name, "ContentReady", "False", "InsufficientSpace");
    await nodeCondition("DiskPressure", "InsufficientSpace");
    expect(leftovers()).to.deep.equal([]);
    expect(existsSync(objectDirectory(fixture.root, source.sha256))).to.equal(false);
    disk.clear();
    await fixture.ordered(name);
    await nodeCondition("DiskPressure", "SpaceLeft");
    expect(readFileSync(`${contentDirectory(fixture.root, source.sha256)}/engine/data.bin`)).to.have.length(
      8 * mebibyte,
    );
  });

  it("that others fill during a download leaves nothing of it, and the download is retried", async () => {
    disk = await putOnSmallDisk(fixture, { megabytes: 192 });
    fixture.proxy.fault = ({ path }) =>
      path.includes("archives") ? { bytesPerSecond: mebibyte } : undefined;
    await fixture.startAgent();
    const source = await fixture.createGame(4 * mebibyte);
    const name = await fixture.launch(source);
    await eventually(
      () =>
        existsSync(join(fixture.root, "v1/tmp")) &&
        leftovers().some((name) => name.startsWith(source.sha256)),
      { what: "the download to run" },
    );
    disk.fill();
    await fixture.condition(name, "ContentReady", "False", "InsufficientSpace");
    expect(leftovers()).to.deep.equal([]);
    fixture.proxy.fault = undefined;
    disk.clear();
    await fixture.ordered(name);
    expect(readFileSync(`${contentDirectory(fixture.root, source.sha256)}/engine/data.bin`)).to.have.length(
      4 * mebibyte,
    );
  });

  it("reports that there is no space for the session's files, and continues once there is", async () => {
    disk = await putOnSmallDisk(fixture, { megabytes: 192, inodes: 512 });
    await fixture.startAgent();
    const source = await fixture.createGame();
    await fixture.ordered(await fixture.launch(source));
    disk.fillInodes();
    const name = await fixture.launch(source);
    await fixture.condition(name, "ContentReady", "False", "InsufficientSpace");
    disk.clear();
    await fixture.ordered(name);
    await fixture.startPod(name);
  });

  it("leaves no part of a save that does not fit, and restores it completely once there is space", async () => {
    disk = await putOnSmallDisk(fixture, { megabytes: 128 });
    await fixture.startAgent();
    const source = await fixture.createGame();
    await fixture.ordered(await fixture.launch(source));
    const progress = randomBytes(8 * mebibyte);
    const save = aTarGz([{ name: "progress", body: progress }]);
    const objectKey = "saves/large/1-gs-old-1.tar.gz";
    await fixture.minio.client.putObject(fixture.minio.bucket, objectKey, save, save.length);
    disk.fill(4 * mebibyte);
    const name = await fixture.launch(source, {
      saveSlot: { slotId: "large", number: 1, generation: 1, objectKey, sha256: sha256Of(save) },
    });
    await fixture.condition(name, "ContentReady", "False", "InsufficientSpace");
    await eventually(
      () => readdirSync(fixture.folder(name)).sort().join() === `${spoolNames.packed},session.json`,
      { intervalMs: 10, what: "the part of the save to go" },
    );
    disk.clear();
    await fixture.ordered(name);
    await fixture.startPod(name);
    expect(readFileSync(`${fixture.saves(name)}/progress`).equals(progress)).to.equal(true);
  });

  for (const [what, fill] of [
    ["bytes", () => disk.fill()],
    ["inodes", () => disk.fillInodes()],
  ] as const) {
    it(`without ${what} keeps a running session's stored save, and stores its newest save once there is space`, async () => {
      disk = await putOnSmallDisk(fixture, { megabytes: 192, inodes: 512 });
      await fixture.startAgent();
      const name = await fixture.aRunningSession();
      writeFileSync(`${fixture.saves(name)}/progress`, "level 1");
      const first = await fixture.storedSave(name, 1);
      fill();
      writeFileSync(`${fixture.saves(name)}/progress`, randomBytes(mebibyte));
      // The manifest that would say so may have no room either.
      await eventually(() => fixture.packerLog(name).some((line) => line.includes("SpoolFull")), {
        timeoutMs: 20_000,
        what: "the packer to find no room",
      });
      expect((await fixture.session(name)).status?.save?.objectKey).to.equal(first.objectKey);
      expect(await fixture.readSaved(first.objectKey, "progress")).to.equal("level 1");
      disk.clear();
      expect((await fixture.storedSave(name, 2)).unpackedBytes).to.equal(mebibyte);
      writeFileSync(`${fixture.saves(name)}/progress`, "level 3");
      await fixture.endGame(name);
      await fixture.condition(name, "SavePersisted", "True", "Stored");
      expect(
        await fixture.readSaved((await fixture.session(name)).status!.save!.objectKey, "progress"),
      ).to.equal("level 3");
    });
  }

  it("at the end of a session loses only the latest changes, and nothing that was stored", async () => {
    disk = await putOnSmallDisk(fixture, { megabytes: 192, inodes: 512 });
    await fixture.startAgent();
    const name = await fixture.aRunningSession();
    writeFileSync(`${fixture.saves(name)}/progress`, "level 1");
    const { objectKey } = await fixture.storedSave(name, 1);
    disk.fill();
    writeFileSync(`${fixture.saves(name)}/progress`, randomBytes(mebibyte));
    await eventually(() => fixture.packerLog(name).some((line) => line.includes("SpoolFull")), {
      timeoutMs: 20_000,
      what: "the packer to find no room",
    });
    await fixture.removePodAbruptly(name);
    disk.clear();
    expect(["LastAutosave", "SpoolFull"]).to.include(await fixture.condition(name, "SavePersisted", "True"));
    expect((await fixture.session(name)).status?.save).to.include({ objectKey, final: true });
  });

  it("does not prevent an agent from starting, which stores existing packs", async () => {
    disk = await putOnSmallDisk(fixture, { megabytes: 192, inodes: 512 });
    fixture.startProcess();
    const name = await fixture.aRunningSession();
    fixture.proxy.fault = ({ method }) => (method === "PUT" ? { status: 503 } : undefined);
    writeFileSync(`${fixture.saves(name)}/progress`, "level 1");
    await fixture.packed(name);
    await fixture.killProcess();
    // The inodes first: their names want blocks.
    disk.fillInodes(disk.inodesOfFilling);
    disk.fill();
    fixture.proxy.fault = undefined;
    fixture.startProcess();
    await eventually(async () => (await fixture.storedSaves(`slot-${name}`)).length === 1, {
      timeoutMs: 30_000,
      what: "the save in the object store",
    });
    disk.clear();
    await fixture.storedSave(name, 1);
  });

  it("that stays full does not prevent the report of a last save in the object store, which is stored once", async () => {
    disk = await putOnSmallDisk(fixture, { megabytes: 192, inodes: 512 });
    await fixture.startAgent();
    const name = await fixture.aRunningSession();
    fixture.proxy.fault = ({ method }) => (method === "PUT" ? { status: 503 } : undefined);
    writeFileSync(`${fixture.saves(name)}/progress`, "level 1");
    await fixture.endGame(name);
    disk.fillInodes(disk.inodesOfFilling);
    disk.fill();
    const before = fixture.proxy.requests.length;
    let refused = 0;
    fixture.proxy.fault = ({ method }) => {
      if (method !== "PUT" || refused > 0) return undefined;
      refused += 1;
      return { status: 503 };
    };
    expect(await fixture.condition(name, "SavePersisted", "True")).to.equal("Stored");
    expect(
      fixture.proxy.requests.slice(before).filter(({ method }) => method === "PUT").length - refused,
      "uploads",
    ).to.equal(1);
    disk.clear();
    await eventually(() => readFileSync(`${fixture.folder(name)}/session.json`, "utf8").includes("outcome"), {
      timeoutMs: 20_000,
      what: "the record to be written",
    });
    await fixture.finish(name);
    await eventually(() => !existsSync(fixture.folder(name)), {
      timeoutMs: 20_000,
      what: "the folder to be removed",
    });
  });

  it("does not revert a save that was reported but not recorded when the agent restarts", async () => {
    disk = await putOnSmallDisk(fixture, { megabytes: 192, inodes: 512 });
    await fixture.startAgent();
    const name = await fixture.aRunningSession();
    writeFileSync(`${fixture.saves(name)}/progress`, "level 1");
    await fixture.storedSave(name, 1);
    fixture.proxy.fault = ({ method }) => (method === "PUT" ? { status: 503 } : undefined);
    writeFileSync(`${fixture.saves(name)}/progress`, "level 2");
    await eventually(() => fixture.manifest(name)?.save?.sequence === 2, {
      timeoutMs: 20_000,
      what: "the second pack",
    });
    disk.fillInodes(disk.inodesOfFilling);
    disk.fill();
    fixture.proxy.fault = undefined;
    const { objectKey } = await fixture.storedSave(name, 2);
    await fixture.stopAgent();
    fixture.proxy.fault = ({ method }) => (method === "PUT" ? { status: 503 } : undefined);
    const saves: (string | undefined)[] = [];
    await fixture.startAgent();
    await fixture.removePodAbruptly(name);
    await eventually(
      async () => {
        const { status } = await fixture.session(name);
        saves.push(status?.save?.objectKey);
        return status?.save?.final === true;
      },
      { timeoutMs: 20_000, what: "the session to be settled" },
    ).finally(() => expect(new Set(saves)).to.deep.equal(new Set([objectKey])));
  });

  it("without inodes rejects sessions although bytes are free, and recovers", async () => {
    disk = await putOnSmallDisk(fixture, { megabytes: 2048, inodes: 8192 });
    await fixture.startAgent({ CHECK_INTERVAL_SECONDS: "0.2" });
    await nodeCondition("SpaceLeft", "EnoughSpace");
    disk.fillInodes(limits.node.minFreeFiles - 1);
    const found = await nodeCondition("SpaceLeft", "TooFewInodes");
    expect(found.status).to.equal("False");
    expect(found.message).to.contain("df --inodes");
    disk.clear();
    await nodeCondition("SpaceLeft", "EnoughSpace");
  });

  /** A game that a session has played, not lately, and one that has not been here; both of many files. */
  const gamesOfManyFiles = async (
    files: number,
  ): Promise<{ unplayed: ArchiveSource; wanted: ArchiveSource }> => {
    const aGameOfManyFiles = async (): Promise<ArchiveSource> => {
      const many = Array.from({ length: files }, (_, index) => ({
        name: `engine/${index}`,
        body: randomBytes(100),
      }));
      const source = await storeArchive(fixture.minio, aTarGz([...aGameTar(), ...many]), {
        unpackedSizeBytes: files * 4096,
      });
      await fixture.nameGame(source);
      return source;
    };
    const [unplayed, wanted] = [await aGameOfManyFiles(), await aGameOfManyFiles()];
    await fixture.startAgent();
    const earlier = await fixture.launch(unplayed);
    await fixture.ordered(earlier);
    await fixture.finish(earlier);
    await fixture.stopAgent();
    ageGame(fixture, unplayed.sha256);
    return { unplayed, wanted };
  };

  it("evicts a game for a launch that lacks inodes, and reports that a pinned one does not fit", async () => {
    disk = await putOnSmallDisk(fixture, { megabytes: 256, inodes: 256 });
    const files = 100;
    const { unplayed, wanted } = await gamesOfManyFiles(files);
    await pin(unplayed, true);
    await fixture.startAgent();
    disk.fillInodes(50);
    const name = await fixture.launch(wanted);
    await fixture.condition(name, "ContentReady", "False", "InsufficientSpace");
    expect(existsSync(objectDirectory(fixture.root, unplayed.sha256)), "pinned").to.equal(true);
    await pin(unplayed, false);
    await fixture.ordered(name);
    expect(existsSync(objectDirectory(fixture.root, unplayed.sha256)), "not pinned any more").to.equal(false);
    expect(readdirSync(`${contentDirectory(fixture.root, wanted.sha256)}/engine`)).to.have.length(files + 1);
  });

  it("does not report that a game does not fit if another one is evicted for it", async () => {
    disk = await putOnSmallDisk(fixture, { megabytes: 256, inodes: 256 });
    const { unplayed, wanted } = await gamesOfManyFiles(100);
    await fixture.startAgent();
    disk.fillInodes(50);
    const name = await fixture.launch(wanted);
    await fixture.ordered(name);
    expect(existsSync(objectDirectory(fixture.root, unplayed.sha256)), "the game that nobody plays").to.equal(
      false,
    );
    await eventually(async () => (await fixture.eventsOf(name)).includes("Prepared"), {
      what: "the event that the game is ready",
    });
    expect(await fixture.eventsOf(name)).not.to.include("InsufficientSpace");
  });

  it("evicts unused games before it takes its node out of service", async () => {
    disk = await putOnSmallDisk(fixture, { megabytes: 2048 });
    const source = await fixture.createGame(16 * mebibyte);
    await fixture.startAgent();
    await pin(source, false);
    await entry(source, "Ready");
    await fixture.stopAgent();
    ageGame(fixture, source.sha256);
    await fixture.startAgent({ CHECK_INTERVAL_SECONDS: "0.2" });
    await nodeCondition("SpaceLeft", "EnoughSpace");
    disk.fill(limits.node.minFreeBytes - mebibyte);
    await eventually(() => !existsSync(objectDirectory(fixture.root, source.sha256)), {
      timeoutMs: 20_000,
      what: "the game to be given up",
    });
    // Neither does a fill take the room again that saves need.
    await entry(source, "Failed");
    expect(await nodeCondition("SpaceLeft", "EnoughSpace")).to.include({ status: "True" });
    disk.clear();
    await entry(source, "Ready");
  });
});

import { execFileSync, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { expect } from "chai";
import type { StoredSave } from "#contracts/crd/gameSession.ts";
import { aTarGz } from "#test/factories/tarArchive.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { beforeEachWithNodeAgent, type NodeAgentFixture } from "#test/support/fixtures/nodeAgentFixture.ts";
import { putOnSmallDisk } from "#test/support/fixtures/nodeDisk.ts";
import { sha256Of } from "#test/support/stores/storedArchive.ts";

const mebibyte = 2 ** 20;

describe("Saves requested by players", function () {
  this.timeout(90_000);
  let fixture: NodeAgentFixture;

  beforeEachWithNodeAgent(async (fresh) => {
    fixture = fresh;
    await fixture.createGameNode();
  });

  /** Requests a save like the API, and returns the save that answers the request. */
  async function requestedSave(name: string, saveRequestedAt: string): Promise<StoredSave> {
    await ask(name, saveRequestedAt);
    return saveOf(name, saveRequestedAt);
  }

  const ask = (name: string, saveRequestedAt: string) =>
    fixture.sessions.mergePatch({ name, namespace: fixture.namespace }, { spec: { saveRequestedAt } });
  const saveOf = (name: string, saveRequestedAt: string): Promise<StoredSave> =>
    eventually(
      async () => {
        const save = (await fixture.session(name)).status?.save;
        return save?.requestedAt === saveRequestedAt ? save : undefined;
      },
      { timeoutMs: 20_000, what: "the save that was asked for" },
    );

  it("are stored at once with the request that they answer", async () => {
    await fixture.startAgent({ SAVE_INTERVAL_SECONDS: "600" });
    const name = await fixture.aRunningSession();
    writeFileSync(`${fixture.saves(name)}/progress`, "level 1");
    await fixture.storedSave(name, 1);
    writeFileSync(`${fixture.saves(name)}/progress`, "level 2");
    const { objectKey } = await requestedSave(name, "2026-01-01T00:00:01.000Z");
    expect(await fixture.readSaved(objectKey, "progress")).to.equal("level 2");
    // Nothing has changed since, so the stored save is the answer.
    expect((await requestedSave(name, "2026-01-01T00:00:02.000Z")).objectKey).to.equal(objectKey);
    expect(await fixture.storedSaves(`slot-${name}`)).to.have.length(2);
  });

  it("are stored even if the game has changed nothing since the restore", async () => {
    await fixture.startAgent({ SAVE_INTERVAL_SECONDS: "600" });
    const save = aTarGz([{ name: "progress", body: "level 7" }]);
    const objectKey = "saves/loaded/3-gs-old-1.tar.gz";
    await fixture.minio.client.putObject(fixture.minio.bucket, objectKey, save, save.length);
    const name = await fixture.aRunningSession({
      saveSlot: { slotId: "loaded", number: 1, objectKey, sha256: sha256Of(save), generation: 3 },
    });
    const stored = await requestedSave(name, "2026-01-01T00:00:01.000Z");
    expect(stored.generation).to.equal(4);
    expect(await fixture.readSaved(stored.objectKey, "progress")).to.equal("level 7");
    await fixture.endGame(name);
    await fixture.condition(name, "SavePersisted", "True");
    expect(await fixture.storedSaves("loaded")).to.have.members([objectKey, stored.objectKey]);
  });

  it("are answered with a message while the game has written none, and then with the first save", async () => {
    await fixture.startAgent({ SAVE_INTERVAL_SECONDS: "600" });
    const name = await fixture.aRunningSession();
    await ask(name, "2026-01-01T00:00:01.000Z");
    await fixture.condition(name, "SavePersisted", "False", "NothingToSave");
    await ask(name, "2026-01-01T00:00:02.000Z");
    await eventually(() => fixture.manifest(name)?.answered === "2026-01-01T00:00:02.000Z", {
      timeoutMs: 20_000,
      what: "the packer to answer",
    });
    await fixture.condition(name, "SavePersisted", "False", "NothingToSave");
    writeFileSync(`${fixture.saves(name)}/progress`, "level 1");
    expect(
      await fixture.readSaved((await saveOf(name, "2026-01-01T00:00:02.000Z")).objectKey, "progress"),
    ).to.equal("level 1");
    await fixture.condition(name, "SavePersisted", "False", "Playing");
  });

  it("are not reported as stored while the node has no space for the pack", async () => {
    const disk = await putOnSmallDisk(fixture, { megabytes: 128 });
    await fixture.startAgent();
    const name = await fixture.aRunningSession();
    writeFileSync(`${fixture.saves(name)}/progress`, "level 1");
    await fixture.storedSave(name, 1);
    disk.fill(mebibyte);
    writeFileSync(`${fixture.saves(name)}/progress`, randomBytes(8 * mebibyte));
    const requestedAt = "2026-01-01T00:00:01.000Z";
    await ask(name, requestedAt);
    await eventually(
      () => {
        const manifest = fixture.manifest(name);
        return manifest?.refused !== undefined && manifest.answered === requestedAt;
      },
      { timeoutMs: 20_000, what: "the packer to say that it could not pack what was asked for" },
    );
    disk.clear();
    expect((await saveOf(name, requestedAt)).unpackedBytes).to.be.at.least(8 * mebibyte);
  });

  it("do not block existing packs if the disk has no space for the request", async () => {
    const disk = await putOnSmallDisk(fixture, { megabytes: 192, inodes: 512 });
    await fixture.startAgent();
    const name = await fixture.aRunningSession();
    await fixture.stopAgent();
    writeFileSync(`${fixture.saves(name)}/progress`, "level 1");
    await fixture.packed(name);
    disk.fillInodes(disk.inodesOfFilling);
    disk.fill();
    const requestedAt = "2026-01-01T00:00:01.000Z";
    await ask(name, requestedAt);
    await fixture.startAgent();
    const { objectKey } = await fixture.storedSave(name, 1);
    expect(await fixture.readSaved(objectKey, "progress")).to.equal("level 1");
    disk.clear();
    await saveOf(name, requestedAt);
  });

  it("do not block existing packs if the disk is read-only", async () => {
    await fixture.startAgent();
    const name = await fixture.aRunningSession();
    await fixture.stopAgent();
    writeFileSync(`${fixture.saves(name)}/progress`, "level 1");
    await fixture.packed(name);
    const folder = fixture.folder(name);
    execFileSync("mount", ["--bind", folder, folder]);
    fixture.atEnd(() => void spawnSync("umount", ["--lazy", folder]));
    execFileSync("mount", ["-o", "remount,bind,ro", folder]);
    const requestedAt = "2026-01-01T00:00:01.000Z";
    await ask(name, requestedAt);
    await fixture.startAgent();
    const { objectKey } = await fixture.storedSave(name, 1);
    expect(await fixture.readSaved(objectKey, "progress")).to.equal("level 1");
    execFileSync("umount", ["--lazy", folder]);
    await saveOf(name, requestedAt);
  });
});

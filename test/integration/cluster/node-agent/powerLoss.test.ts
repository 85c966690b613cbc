import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { expect } from "chai";
import { aTarGz } from "#test/factories/tarArchive.ts";
import type { SmallDisk } from "#test/support/disks/smallDisk.ts";
import { beforeEachWithNodeAgent, type NodeAgentFixture } from "#test/support/fixtures/nodeAgentFixture.ts";
import { losePower, putOnSmallDisk } from "#test/support/fixtures/nodeDisk.ts";
import { sha256Of } from "#test/support/stores/storedArchive.ts";

describe("Node agent after a power loss", function () {
  this.timeout(90_000);
  let fixture: NodeAgentFixture;
  let disk: SmallDisk;

  beforeEachWithNodeAgent(async (fresh) => {
    fixture = fresh;
    await fixture.createGameNode();
    disk = await putOnSmallDisk(fixture, { megabytes: 128 });
    fixture.startProcess();
  });

  /** Restarts the machine. Its kubelet reports the pod's end. */
  async function returnWithoutPod(name: string): Promise<void> {
    fixture.startProcess();
    await fixture.setGame(name, { terminated: { exitCode: 137, reason: "Error" } });
  }

  it("stores earlier packs even if the restore report never reached the disk", async () => {
    fixture.proxy.fault = ({ method }) => (method === "PUT" ? { status: 503 } : undefined);
    const name = await fixture.aRunningSession();
    writeFileSync(`${fixture.saves(name)}/progress`, "level 1");
    await fixture.packed(name);
    // The packer syncs the manifest's name a moment after it can be read.
    execFileSync("sync", [fixture.folder(name)]);
    await losePower(fixture, disk, name);
    fixture.proxy.fault = undefined;
    await returnWithoutPod(name);
    expect(await fixture.condition(name, "SavePersisted", "True")).to.equal("LastAutosave");
    expect(
      await fixture.readSaved((await fixture.session(name)).status!.save!.objectKey, "progress"),
    ).to.equal("level 1");
  });

  it("reports that a session without packs leaves the slot unchanged", async () => {
    const name = await fixture.aRunningSession();
    await losePower(fixture, disk, name);
    await returnWithoutPod(name);
    expect(["LastAutosave", "NothingToSave"]).to.include(
      await fixture.condition(name, "SavePersisted", "True"),
    );
    expect(await fixture.storedSaves(`slot-${name}`)).to.deep.equal([]);
  });

  it("orders a restore again that never reached the disk", async () => {
    const save = aTarGz([{ name: "progress", body: "level 7" }]);
    const objectKey = "saves/old/3-gs-old-1.tar.gz";
    await fixture.minio.client.putObject(fixture.minio.bucket, objectKey, save, save.length);
    const name = await fixture.launch(await fixture.createGame(), {
      saveSlot: { slotId: "old", number: 2, generation: 3, objectKey, sha256: sha256Of(save) },
    });
    await fixture.ordered(name);
    // Like any file's flush, this syncs the names to disk but not other files' bytes.
    execFileSync("sync", [fixture.root]);
    await losePower(fixture, disk, name);
    fixture.startProcess();
    await fixture.startPod(name);
    expect(readFileSync(`${fixture.saves(name)}/progress`, "utf8")).to.equal("level 7");
  });

  it("keeps acknowledged saves, and stores the one whose upload was interrupted", async () => {
    const name = await fixture.aRunningSession();
    writeFileSync(`${fixture.saves(name)}/progress`, "level 1");
    const acknowledged = await fixture.storedSave(name, 1);
    const uploading = Promise.withResolvers<undefined>();
    fixture.proxy.fault = ({ method }) => {
      if (method !== "PUT") return undefined;
      uploading.resolve(undefined);
      return { holdUntil: new Promise(() => undefined) };
    };
    writeFileSync(`${fixture.saves(name)}/progress`, "level 2");
    await uploading.promise;
    await losePower(fixture, disk, name);
    fixture.proxy.fault = undefined;
    await returnWithoutPod(name);
    await fixture.condition(name, "SavePersisted", "True", "LastAutosave");
    const { save } = (await fixture.session(name)).status!;
    expect(save).to.include({ sequence: 2, final: true });
    expect(await fixture.readSaved(save!.objectKey, "progress")).to.equal("level 2");
    expect(await fixture.readSaved(acknowledged.objectKey, "progress")).to.equal("level 1");
    await fixture.finish(name);
  });

  it("resumes a launch whose game was being fetched", async () => {
    fixture.proxy.fault = ({ path }) => (path.includes("archives") ? { bytesPerSecond: 2 ** 20 } : undefined);
    const source = await fixture.createGame(8 * 2 ** 20);
    const name = await fixture.launch(source);
    await fixture.condition(name, "ContentReady", "False", "Downloading");
    await losePower(fixture, disk, name);
    expect(existsSync(`${fixture.root}/v1/objects/${source.sha256}`)).to.equal(false);
    fixture.proxy.fault = undefined;
    fixture.startProcess();
    await fixture.ordered(name);
    expect(
      readFileSync(`${fixture.root}/v1/objects/${source.sha256}/content/engine/data.bin`),
    ).to.have.length(8 * 2 ** 20);
  });
});

import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chownSync, existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, truncateSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { limits } from "#contracts/limits.ts";
import { contentDirectory, sessionDirectory, sessionUserId } from "#contracts/nodeLayout.ts";
import { aTarGz } from "#test/factories/tarArchive.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { beforeEachWithNodeAgent, type NodeAgentStage } from "#test/support/fixtures/nodeAgentFixture.ts";
import { sha256Of } from "#test/support/stores/storedArchive.ts";

describe("Node agent: sessions", function () {
  this.timeout(90_000);
  let stage: NodeAgentStage;

  beforeEachWithNodeAgent(async (fresh) => {
    stage = fresh;
    await stage.createGameNode();
  });

  const aRunningSession = (spec?: Parameters<NodeAgentStage["aRunningSession"]>[0]): Promise<string> => stage.aRunningSession(spec);
  const savesOf = (name: string): Promise<string[]> => stage.storedSaves(`slot-${name}`);
  const storedSave = (name: string, sequence: number) => stage.storedSave(name, sequence);
  const listing = async (key: string): Promise<string[]> => execFileSync("tar", ["-tz"], { input: await stage.readObject(key), encoding: "utf8" }).trim().split("\n").sort();

  it("takes a session from placement to the end of its directory", async () => {
    await stage.startAgent();
    const source = await stage.createGame();
    const name = await stage.launch(source);
    await stage.ordered(name);
    expect(existsSync(`${contentDirectory(stage.root, source.sha256)}/run.sh`)).to.equal(true);
    await stage.startPod(name);
    expect(statSync(stage.saves(name))).to.include({ uid: sessionUserId, gid: sessionUserId });
    expect(statSync(stage.saves(name)).mode & 0o777).to.equal(0o700);

    writeFileSync(`${stage.saves(name)}/progress`, "level 1");
    const first = await storedSave(name, 1);
    expect(first).to.include({ objectKey: `saves/slot-${name}/1-${name}-1.1.tar.gz`, generation: 1, final: false });
    writeFileSync(`${stage.saves(name)}/progress`, "level 2");
    const second = await storedSave(name, 2);
    expect(sha256Of(await stage.readObject(second.objectKey))).to.equal(second.sha256);

    writeFileSync(`${stage.saves(name)}/progress`, "level 3, the last");
    await stage.endGame(name);
    expect(await stage.condition(name, "SavePersisted", "True")).to.equal("Stored");
    const { status } = await stage.session(name);
    expect(status?.save?.final).to.equal(true);
    const restored = await stage.readSaved(status!.save!.objectKey, "progress");
    expect(restored).to.equal("level 3, the last");
    expect(existsSync(stage.folder(name)), "until the session is finished").to.equal(true);

    await stage.finish(name);
    await eventually(() => !existsSync(sessionDirectory(stage.root, name)), { what: "the directory to be removed" });
    await eventually(async () => (await stage.eventsOf(name)).length >= 2, { what: "events" });
    expect(await stage.eventsOf(name)).to.include.members(["Prepared", "SaveStored"]);
  });

  it("restores the slot's save with its owner and times, and does not store it again unchanged", async () => {
    await stage.startAgent();
    const save = aTarGz([{ name: "deep/", mode: 0o700 }, { name: "deep/progress", body: "level 7", mtimeSeconds: 1_600_000_000 }]);
    const objectKey = "saves/old/3-gs-old-1.tar.gz";
    await stage.minio.client.putObject(stage.minio.bucket, objectKey, save, save.length);
    const name = await aRunningSession({ saveSlot: { slotId: "old", number: 2, objectKey, sha256: sha256Of(save), generation: 3 } });
    const file = `${stage.saves(name)}/deep/progress`;
    expect(readFileSync(file, "utf8")).to.equal("level 7");
    expect(statSync(file)).to.include({ uid: sessionUserId, mtimeMs: 1_600_000_000_000 });
    writeFileSync(file, "level 8");
    expect(await storedSave(name, 1)).to.include({ generation: 4, objectKey: `saves/old/4-${name}-1.1.tar.gz` });

    // What the agent itself packed comes back to the same bytes.
    const again = await storedSave(name, 1);
    await stage.endGame(name);
    await stage.condition(name, "SavePersisted", "True");
    const next = await aRunningSession({ saveSlot: { slotId: "old", number: 2, objectKey: again.objectKey, sha256: again.sha256, generation: 4 } });
    await stage.endGame(next);
    expect(await stage.condition(next, "SavePersisted", "True")).to.equal("Unchanged");
    expect(await stage.storedSaves("old")).to.have.members([objectKey, again.objectKey]);
  });

  it("refuses a save that is not the one the slot names, and a hostile one", async () => {
    await stage.startAgent();
    const game = await stage.createGame();
    const good = aTarGz([{ name: "a", body: "b" }]);
    const evil = aTarGz([{ name: "../evil", body: "b" }]);
    for (const [key, packed] of [["saves/x/good.tar.gz", good], ["saves/x/evil.tar.gz", evil]] as const) await stage.minio.client.putObject(stage.minio.bucket, key, packed, packed.length);
    const slot = { slotId: "x", number: 1, generation: 1 };
    const wrong = await stage.launch(game, { saveSlot: { ...slot, objectKey: "saves/x/good.tar.gz", sha256: "f".repeat(64) } });
    await stage.condition(wrong, "SaveRestored", "False", "ChecksumMismatch");
    const hostile = await stage.launch(game, { saveSlot: { ...slot, objectKey: "saves/x/evil.tar.gz", sha256: sha256Of(evil) } });
    await stage.ordered(hostile);
    await stage.createPod(hostile, [{ name: "spool" }]);
    mkdirSync(stage.volume(hostile));
    chownSync(stage.volume(hostile), sessionUserId, sessionUserId);
    await stage.startPacker(hostile);
    await stage.condition(hostile, "SaveRestored", "False", "SaveRefused");
    const missing = await stage.launch(game, { saveSlot: { ...slot, objectKey: "saves/x/none.tar.gz", sha256: "f".repeat(64) } });
    await stage.condition(missing, "SaveRestored", "False", "SaveMissing");
    expect(existsSync(stage.saves(hostile)) || existsSync(`${sessionDirectory(stage.root, hostile)}/evil`)).to.equal(false);
  });

  it("says that there is nothing to save when the game wrote nothing or never ran", async () => {
    await stage.startAgent();
    const played = await aRunningSession();
    await stage.endGame(played);
    expect(await stage.condition(played, "SavePersisted", "True")).to.equal("NothingToSave");
    const cancelled = await stage.launch(await stage.createGame());
    await stage.ordered(cancelled);
    await stage.sessions.mergePatch({ name: cancelled, namespace: stage.namespace }, { spec: { desiredState: "Stopped", stopReason: "UserRequested" } });
    expect(await stage.condition(cancelled, "SavePersisted", "True")).to.equal("NothingToSave");
    expect(await savesOf(played)).to.deep.equal([]);
  });

  it("does not store what did not change", async () => {
    await stage.startAgent();
    const name = await aRunningSession();
    writeFileSync(`${stage.saves(name)}/progress`, "level 1");
    await storedSave(name, 1);
    // Written again with the same content: looked at again, and found to be the same.
    const { atime, mtime } = statSync(`${stage.saves(name)}/progress`);
    writeFileSync(`${stage.saves(name)}/progress`, "level 1");
    utimesSync(`${stage.saves(name)}/progress`, atime, mtime);
    await stage.endGame(name);
    expect(await stage.condition(name, "SavePersisted", "True")).to.equal("Stored");
    expect(await savesOf(name)).to.have.length(1);
    expect((await stage.session(name)).status?.save).to.include({ sequence: 1, final: true });
  });

  it("follows no link and opens nothing odd that the game left", async () => {
    await stage.startAgent();
    const name = await aRunningSession();
    const saves = stage.saves(name);
    symlinkSync("/etc/passwd", `${saves}/link`);
    symlinkSync("/etc", `${saves}/folder-link`);
    execFileSync("mkfifo", [`${saves}/pipe`]);
    mkdirSync(`${saves}/folder`);
    writeFileSync(`${saves}/folder/real`, "data");
    writeFileSync(Buffer.concat([Buffer.from(`${saves}/`), Buffer.from([0x61, 0xff])]), "not UTF-8");
    const { objectKey } = await storedSave(name, 1);
    await stage.endGame(name);
    await stage.condition(name, "SavePersisted", "True");
    expect(await listing(objectKey)).to.deep.equal(["folder/", "folder/real"]);
  });

  it("keeps the packs while MinIO is away, also across a restart, and stores it when it is back", async () => {
    await stage.startAgent();
    const name = await aRunningSession();
    await stage.minio.stop();
    try {
      writeFileSync(`${stage.saves(name)}/progress`, "level 9");
      await stage.endGame(name);
      await stage.condition(name, "SavePersisted", "False", "StoreUnreachable");
      await stage.stopAgent();
      await stage.startAgent();
      expect(stage.packsOf(name)).to.have.length(1);
    } finally {
      await stage.minio.start();
    }
    await eventually(async () => (await stage.session(name)).status?.save?.final === true, { timeoutMs: 40_000, what: "the save to be stored" });
    expect(await savesOf(name)).to.have.length(1);
  });

  it("stores what it finds after a restart although the session is gone, and tells an admin", async () => {
    await stage.startAgent();
    const name = await aRunningSession();
    await stage.stopAgent();
    writeFileSync(`${stage.saves(name)}/progress`, "level 5");
    await stage.endGame(name);
    await stage.pods.mergePatch({ name, namespace: stage.namespace }, { metadata: { finalizers: null } });
    await stage.pods.delete({ name, namespace: stage.namespace }, { gracePeriodSeconds: 0 });
    await stage.sessions.delete({ name, namespace: stage.namespace });
    await stage.startAgent();
    await eventually(async () => (await savesOf(name)).length === 1, { timeoutMs: 20_000, what: "the orphaned save to be stored" });
    const [key = ""] = await savesOf(name);
    expect(await stage.readSaved(key, "progress")).to.equal("level 5");
    await eventually(() => !existsSync(stage.folder(name)), { what: "the folder to be removed" });
    await eventually(async () => (await stage.eventsOf(stage.node)).includes("OrphanedSave"), { what: "the admin to be told" });
  });

  it("hears of the last pack after a restart, before the kubelet says that the pod has ended", async () => {
    await stage.startAgent();
    const name = await aRunningSession();
    await stage.stopAgent();
    await stage.startAgent();
    writeFileSync(`${stage.saves(name)}/progress`, "level 4");
    await storedSave(name, 1);
    await stage.sessions.mergePatch({ name, namespace: stage.namespace }, { spec: { desiredState: "Stopped", stopReason: "UserRequested" } });
    await stage.finishPacker(name);
    await stage.condition(name, "SavePersisted", "True", "Stored");
  });

  it("stores a save of many megabytes to the byte", async () => {
    await stage.startAgent();
    const name = await aRunningSession();
    const bytes = randomBytes(24 * 2 ** 20);
    writeFileSync(`${stage.saves(name)}/world`, bytes);
    await stage.endGame(name);
    await stage.condition(name, "SavePersisted", "True", "Stored");
    const { objectKey, sha256, bytes: size } = (await stage.session(name)).status!.save!;
    const packed = await stage.readObject(objectKey);
    expect(packed.length).to.equal(size);
    expect(sha256Of(packed)).to.equal(sha256);
    const unpacked = execFileSync("tar", ["-xzO", "world"], { input: packed, maxBuffer: 2 ** 26 });
    expect(unpacked.equals(bytes)).to.equal(true);
  });

  it("does not store a save over the limits, says so, and keeps the good one before it", async () => {
    await stage.startAgent();
    const name = await aRunningSession();
    writeFileSync(`${stage.saves(name)}/progress`, "level 1");
    const { objectKey } = await storedSave(name, 1);
    writeFileSync(`${stage.saves(name)}/large`, "");
    truncateSync(`${stage.saves(name)}/large`, limits.save.unpackedBytes + 1);
    await stage.condition(name, "SavePersisted", "False", "SaveTooLarge");
    await stage.endGame(name);
    await stage.condition(name, "SavePersisted", "True", "SaveTooLarge");
    expect((await stage.session(name)).status?.save?.objectKey).to.equal(objectKey);
    await stage.finish(name);
    await eventually(() => !existsSync(stage.folder(name)), { what: "the folder to be removed" });
  });

  it("stores the newest pack of a pod that was torn away, with its age", async () => {
    await stage.startAgent();
    const name = await aRunningSession();
    writeFileSync(`${stage.saves(name)}/progress`, "level 3");
    await stage.packed(name);
    await stage.tearPodAway(name);
    await stage.condition(name, "SavePersisted", "True", "LastAutosave");
    const { status } = await stage.session(name);
    expect(status?.save?.final).to.equal(true);
    expect(await stage.readSaved(status!.save!.objectKey, "progress")).to.equal("level 3");
    expect(status?.conditions?.find(({ type }) => type === "SavePersisted")?.message).to.match(/packed at .*, \d+ s ago/);
  });

  it("gives up the directory of a session that moved to another node", async () => {
    await stage.startAgent();
    const name = await stage.launch(await stage.createGame());
    await stage.ordered(name);
    await stage.operate(name, { nodeName: "another-node" });
    await eventually(() => !existsSync(sessionDirectory(stage.root, name)), { timeoutMs: 20_000, what: "the directory to be removed" });
    expect(await savesOf(name)).to.deep.equal([]);
  });

  it("says what is wrong with the game of a session", async () => {
    await stage.startAgent();
    const unknown = await stage.launch({ ...await stage.createGame(), sha256: "e".repeat(64) });
    await stage.condition(unknown, "ContentReady", "False", "SourceUnknown");
    const incomplete = await stage.launch(await stage.createGame(), { launcher: "other.sh" });
    await stage.condition(incomplete, "ContentReady", "False", "ArchiveIncomplete");
  });

  it("is killed in the middle of a download and a restore, and does both anew", async () => {
    const source = await stage.createGame(3_000_000);
    stage.proxy.fault = ({ method }) => method === "GET" ? { bytesPerSecond: 400_000 } : undefined;
    stage.startProcess();
    const name = await stage.launch(source);
    const temporary = join(stage.root, "v1/tmp");
    await eventually(() => existsSync(temporary) && readdirSync(temporary).length > 0, { timeoutMs: 30_000, what: "the download to run" });
    await stage.condition(name, "ContentReady", "False", "Downloading");
    await stage.killProcess();
    expect(readdirSync(temporary)).to.have.length(1);
    expect(existsSync(contentDirectory(stage.root, source.sha256))).to.equal(false);
    stage.proxy.fault = undefined;
    stage.startProcess();
    await stage.ordered(name);
    await stage.condition(name, "SaveRestored", "True");
    expect(lstatSync(`${contentDirectory(stage.root, source.sha256)}/engine/data.bin`).size).to.equal(3_000_000);
    expect(readdirSync(temporary)).to.deep.equal([]);
    expect(await stage.killProcess("SIGTERM")).to.equal(0);
  });
});

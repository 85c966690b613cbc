import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { expect } from "chai";
import { limits } from "#contracts/limits.ts";
import {
  contentDirectory,
  gameOutputBytes,
  sessionDirectory,
  sessionUserId,
  spoolNames,
} from "#contracts/nodeLayout.ts";
import { runObservationsKey, runOutputKey, savePictureKey } from "#contracts/objectKeys.ts";
import { aSavePicture } from "#test/factories/pictures.ts";
import { aTarGz } from "#test/factories/tarArchive.ts";
import { systemClock } from "#runtime/scheduling/clock.ts";
import { messageOf } from "#runtime/errors.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { JumpClock } from "#test/support/clocks/jumpClock.ts";
import { beforeEachWithNodeAgent, type NodeAgentFixture } from "#test/support/fixtures/nodeAgentFixture.ts";
import { retryMs } from "#node-agent/sessions/steps/step.ts";
import { sha256Of } from "#test/support/stores/storedArchive.ts";

describe("Node agent (sessions)", function () {
  this.timeout(90_000);
  let fixture: NodeAgentFixture;

  beforeEachWithNodeAgent(async (fresh) => {
    fixture = fresh;
    await fixture.createGameNode();
  });

  const aRunningSession = (spec?: Parameters<NodeAgentFixture["aRunningSession"]>[0]): Promise<string> =>
    fixture.aRunningSession(spec);
  const savesOf = (name: string): Promise<string[]> => fixture.storedSaves(`slot-${name}`);
  const storedSave = (name: string, sequence: number) => fixture.storedSave(name, sequence);
  const listing = async (key: string): Promise<string[]> =>
    execFileSync("tar", ["-tz"], { input: await fixture.readObject(key), encoding: "utf8" })
      .trim()
      .split("\n")
      .sort();

  it("stores the end of the game's output, at most 64 KiB and nothing but a file", async () => {
    await fixture.startAgent();
    const [long, linked] = [await aRunningSession(), await aRunningSession()];
    writeFileSync(`${fixture.folder(long)}/${spoolNames.output}`, "a line\n".repeat(100_000));
    symlinkSync("/etc/passwd", `${fixture.folder(linked)}/${spoolNames.output}`);
    writeFileSync(`${fixture.folder(long)}/${spoolNames.observations}`, '{"version":1}');
    for (const name of [long, linked]) {
      await fixture.endGame(name);
      await fixture.finish(name);
      await eventually(() => !existsSync(fixture.folder(name)), { what: "the folder to be removed" });
    }
    const stored = gunzipSync(await fixture.readObject(runOutputKey(long)));
    expect(stored.toString()).to.equal("a line\n".repeat(100_000).slice(0, gameOutputBytes));
    const observed = gunzipSync(await fixture.readObject(runObservationsKey(long)));
    expect(observed.toString()).to.equal('{"version":1}');
    const missing = await fixture.readObject(runOutputKey(linked)).catch(messageOf);
    expect(missing).to.match(/does not exist|not found/i);
  });

  it("stores the picture of a save, unless it is anything but a small JPEG", async () => {
    await fixture.startAgent();
    const [seen, lying] = [await aRunningSession(), await aRunningSession()];
    const picture = aSavePicture();
    const html = Buffer.from("<script>alert(1)</script>");
    for (const [name, jpeg] of [
      [seen, picture],
      [lying, Buffer.concat([picture, html])],
    ] as const) {
      fixture.show(name, jpeg);
      writeFileSync(`${fixture.saves(name)}/progress`, "level 1");
      await storedSave(name, 1);
    }
    const keyOf = (name: string): string => savePictureKey(`saves/slot-${name}/1-${name}-1.1.tar.gz`);
    expect((await fixture.readObject(keyOf(seen))).equals(picture)).to.equal(true);
    expect(await fixture.readObject(keyOf(lying)).catch(messageOf)).to.match(/does not exist|not found/i);
  });

  it("serves a session from its placement to the removal of its directory", async () => {
    await fixture.startAgent();
    const source = await fixture.createGame();
    const name = await fixture.launch(source);
    await fixture.ordered(name);
    expect(existsSync(`${contentDirectory(fixture.root, source.sha256)}/run.sh`)).to.equal(true);
    await fixture.startPod(name);
    expect(statSync(fixture.saves(name))).to.include({ uid: sessionUserId, gid: sessionUserId });
    expect(statSync(fixture.saves(name)).mode & 0o777).to.equal(0o700);

    writeFileSync(`${fixture.saves(name)}/progress`, "level 1");
    const first = await storedSave(name, 1);
    expect(first).to.include({
      objectKey: `saves/slot-${name}/1-${name}-1.1.tar.gz`,
      generation: 1,
      final: false,
    });
    writeFileSync(`${fixture.saves(name)}/progress`, "level 2");
    const second = await storedSave(name, 2);
    expect(sha256Of(await fixture.readObject(second.objectKey))).to.equal(second.sha256);

    writeFileSync(`${fixture.saves(name)}/progress`, "level 3, the last");
    await fixture.endGame(name);
    expect(await fixture.condition(name, "SavePersisted", "True")).to.equal("Stored");
    const { status } = await fixture.session(name);
    expect(status?.save?.final).to.equal(true);
    const restored = await fixture.readSaved(status!.save!.objectKey, "progress");
    expect(restored).to.equal("level 3, the last");
    expect(existsSync(fixture.folder(name)), "until the session is finished").to.equal(true);

    await fixture.finish(name);
    await eventually(() => !existsSync(sessionDirectory(fixture.root, name)), {
      what: "the directory to be removed",
    });
    await eventually(async () => (await fixture.eventsOf(name)).length >= 2, { what: "events" });
    expect(await fixture.eventsOf(name)).to.include.members(["Prepared", "SaveStored"]);
  });

  it("restores the slot's save with its owner and times, and does not store it again if unchanged", async () => {
    await fixture.startAgent();
    const save = aTarGz([
      { name: "deep/", mode: 0o700 },
      { name: "deep/progress", body: "level 7", mtimeSeconds: 1_600_000_000 },
    ]);
    const objectKey = "saves/old/3-gs-old-1.tar.gz";
    await fixture.minio.client.putObject(fixture.minio.bucket, objectKey, save, save.length);
    const name = await aRunningSession({
      saveSlot: { slotId: "old", number: 2, objectKey, sha256: sha256Of(save), generation: 3 },
    });
    const file = `${fixture.saves(name)}/deep/progress`;
    expect(readFileSync(file, "utf8")).to.equal("level 7");
    expect(statSync(file)).to.include({ uid: sessionUserId, mtimeMs: 1_600_000_000_000 });
    writeFileSync(file, "level 8");
    expect(await storedSave(name, 1)).to.include({
      generation: 4,
      objectKey: `saves/old/4-${name}-1.1.tar.gz`,
    });

    // Packing a restored pack of the agent yields the same bytes.
    const again = await storedSave(name, 1);
    await fixture.endGame(name);
    await fixture.condition(name, "SavePersisted", "True");
    const next = await aRunningSession({
      saveSlot: { slotId: "old", number: 2, objectKey: again.objectKey, sha256: again.sha256, generation: 4 },
    });
    await fixture.endGame(next);
    expect(await fixture.condition(next, "SavePersisted", "True")).to.equal("Unchanged");
    expect(await fixture.storedSaves("old")).to.have.members([objectKey, again.objectKey]);
  });

  it("refuses a save that does not match the slot, and a hostile one", async () => {
    await fixture.startAgent();
    const game = await fixture.createGame();
    const good = aTarGz([{ name: "a", body: "b" }]);
    const evil = aTarGz([{ name: "../evil", body: "b" }]);
    for (const [key, packed] of [
      ["saves/x/good.tar.gz", good],
      ["saves/x/evil.tar.gz", evil],
    ] as const)
      await fixture.minio.client.putObject(fixture.minio.bucket, key, packed, packed.length);
    const slot = { slotId: "x", number: 1, generation: 1 };
    const wrong = await fixture.launch(game, {
      saveSlot: { ...slot, objectKey: "saves/x/good.tar.gz", sha256: "f".repeat(64) },
    });
    await fixture.condition(wrong, "SaveRestored", "False", "ChecksumMismatch");
    const hostile = await fixture.launch(game, {
      saveSlot: { ...slot, objectKey: "saves/x/evil.tar.gz", sha256: sha256Of(evil) },
    });
    await fixture.ordered(hostile);
    await fixture.createPod(hostile, [{ name: "spool" }]);
    mkdirSync(fixture.volume(hostile));
    chownSync(fixture.volume(hostile), sessionUserId, sessionUserId);
    await fixture.startPacker(hostile);
    await fixture.condition(hostile, "SaveRestored", "False", "SaveRefused");
    const missing = await fixture.launch(game, {
      saveSlot: { ...slot, objectKey: "saves/x/none.tar.gz", sha256: "f".repeat(64) },
    });
    await fixture.condition(missing, "SaveRestored", "False", "SaveMissing");
    expect(
      existsSync(fixture.saves(hostile)) || existsSync(`${sessionDirectory(fixture.root, hostile)}/evil`),
    ).to.equal(false);
  });

  it("reports that there is nothing to save if the game wrote nothing or never ran", async () => {
    await fixture.startAgent();
    const played = await aRunningSession();
    await fixture.endGame(played);
    expect(await fixture.condition(played, "SavePersisted", "True")).to.equal("NothingToSave");
    const cancelled = await fixture.launch(await fixture.createGame());
    await fixture.ordered(cancelled);
    await fixture.sessions.mergePatch(
      { name: cancelled, namespace: fixture.namespace },
      { spec: { desiredState: "Stopped", stopReason: "UserRequested" } },
    );
    expect(await fixture.condition(cancelled, "SavePersisted", "True")).to.equal("NothingToSave");
    expect(await savesOf(played)).to.deep.equal([]);
  });

  it("does not store an unchanged save", async () => {
    await fixture.startAgent();
    const name = await aRunningSession();
    writeFileSync(`${fixture.saves(name)}/progress`, "level 1");
    await storedSave(name, 1);
    // Written again with the same content, so it is checked again and found unchanged.
    const { atime, mtime } = statSync(`${fixture.saves(name)}/progress`);
    writeFileSync(`${fixture.saves(name)}/progress`, "level 1");
    utimesSync(`${fixture.saves(name)}/progress`, atime, mtime);
    await fixture.endGame(name);
    expect(await fixture.condition(name, "SavePersisted", "True")).to.equal("Stored");
    expect(await savesOf(name)).to.have.length(1);
    expect((await fixture.session(name)).status?.save).to.include({ sequence: 1, final: true });
  });

  it("follows no links and opens no special files left by the game", async () => {
    await fixture.startAgent();
    const name = await aRunningSession();
    const saves = fixture.saves(name);
    symlinkSync("/etc/passwd", `${saves}/link`);
    symlinkSync("/etc", `${saves}/folder-link`);
    execFileSync("mkfifo", [`${saves}/pipe`]);
    mkdirSync(`${saves}/folder`);
    writeFileSync(`${saves}/folder/real`, "data");
    writeFileSync(Buffer.concat([Buffer.from(`${saves}/`), Buffer.from([0x61, 0xff])]), "not UTF-8");
    const { objectKey } = await storedSave(name, 1);
    await fixture.endGame(name);
    await fixture.condition(name, "SavePersisted", "True");
    expect(await listing(objectKey)).to.deep.equal(["folder/", "folder/real"]);
  });

  it("keeps packs while the object store is unavailable, across a restart, and stores the newest afterwards", async () => {
    await fixture.startAgent();
    const name = await aRunningSession();
    await fixture.minio.stop();
    try {
      writeFileSync(`${fixture.saves(name)}/progress`, "level 9");
      await fixture.endGame(name);
      await fixture.condition(name, "SavePersisted", "False", "StoreUnreachable");
      await fixture.stopAgent();
      await fixture.startAgent();
      expect(fixture.packsOf(name)).to.have.length(1);
    } finally {
      await fixture.minio.start();
    }
    await eventually(async () => (await fixture.session(name)).status?.save?.final === true, {
      timeoutMs: 40_000,
      what: "the save to be stored",
    });
    expect(await savesOf(name)).to.have.length(1);
  });

  it("reports the stored save when the API server accepts writes again, without further saves of the game", async () => {
    await fixture.startAgent();
    const name = await aRunningSession();
    writeFileSync(`${fixture.saves(name)}/progress`, "level 1");
    await storedSave(name, 1);
    await fixture.rights.refuseSessionStatus(true);
    writeFileSync(`${fixture.saves(name)}/progress`, "level 2");
    await eventually(async () => (await savesOf(name)).length === 2, {
      timeoutMs: 20_000,
      what: "the second save to be stored",
    });
    expect((await fixture.session(name)).status?.save?.sequence, "unreported").to.equal(1);
    await fixture.rights.refuseSessionStatus(false);
    const { objectKey } = await storedSave(name, 2);
    expect(await fixture.readSaved(objectKey, "progress")).to.equal("level 2");
  });

  it("reports once that a save cannot be stored, regardless of retries", async () => {
    const clock = new JumpClock();
    await fixture.startAgent({}, { clock, requestClock: systemClock });
    const name = await aRunningSession();
    writeFileSync(`${fixture.saves(name)}/progress`, "level 1");
    await storedSave(name, 1);
    fixture.proxy.fault = ({ method }) => (method === "PUT" ? { status: 403 } : undefined);
    writeFileSync(`${fixture.saves(name)}/progress`, "level 2");
    await fixture.condition(name, "SavePersisted", "False", "StoreRefused");
    const attempts = (): number => fixture.proxy.requests.filter(({ method }) => method === "PUT").length;
    const [
      before,
      {
        metadata: { resourceVersion },
      },
    ] = [attempts(), await fixture.session(name)];
    await eventually(
      () => {
        clock.jump(1000);
        return attempts() >= before + 3;
      },
      { timeoutMs: 30_000, what: "further attempts" },
    );
    expect((await fixture.session(name)).metadata.resourceVersion, "writes of the status").to.equal(
      resourceVersion,
    );
    fixture.proxy.fault = undefined;
    clock.jump(retryMs);
    await storedSave(name, 2);
  });

  it("stores a pack found after a restart although its session is gone, and records an event for the admin", async () => {
    await fixture.startAgent();
    const name = await aRunningSession();
    await fixture.stopAgent();
    writeFileSync(`${fixture.saves(name)}/progress`, "level 5");
    await fixture.endGame(name);
    await fixture.pods.mergePatch({ name, namespace: fixture.namespace }, { metadata: { finalizers: null } });
    await fixture.pods.delete({ name, namespace: fixture.namespace }, { gracePeriodSeconds: 0 });
    await fixture.sessions.delete({ name, namespace: fixture.namespace });
    await fixture.startAgent();
    await eventually(async () => (await savesOf(name)).length === 1, {
      timeoutMs: 20_000,
      what: "the orphaned save to be stored",
    });
    const [key = ""] = await savesOf(name);
    expect(await fixture.readSaved(key, "progress")).to.equal("level 5");
    await eventually(() => !existsSync(fixture.folder(name)), { what: "the folder to be removed" });
    await eventually(async () => (await fixture.eventsOf(fixture.node)).includes("OrphanedSave"), {
      what: "the admin to be told",
    });
  });

  it("reads the last pack after a restart, before the kubelet reports the pod's end", async () => {
    await fixture.startAgent();
    const name = await aRunningSession();
    await fixture.stopAgent();
    await fixture.startAgent();
    writeFileSync(`${fixture.saves(name)}/progress`, "level 4");
    await storedSave(name, 1);
    await fixture.sessions.mergePatch(
      { name, namespace: fixture.namespace },
      { spec: { desiredState: "Stopped", stopReason: "UserRequested" } },
    );
    await fixture.finishPacker(name);
    await fixture.condition(name, "SavePersisted", "True", "Stored");
  });

  it("stores a save of many megabytes exactly", async () => {
    await fixture.startAgent();
    const name = await aRunningSession();
    const bytes = randomBytes(24 * 2 ** 20);
    writeFileSync(`${fixture.saves(name)}/world`, bytes);
    await fixture.endGame(name);
    await fixture.condition(name, "SavePersisted", "True", "Stored");
    const { objectKey, sha256, bytes: size } = (await fixture.session(name)).status!.save!;
    const packed = await fixture.readObject(objectKey);
    expect(packed.length).to.equal(size);
    expect(sha256Of(packed)).to.equal(sha256);
    const unpacked = execFileSync("tar", ["-xzO", "world"], { input: packed, maxBuffer: 2 ** 26 });
    expect(unpacked.equals(bytes)).to.equal(true);
  });

  it("refuses a save over the limits with a reason, and keeps the good one before it", async () => {
    await fixture.startAgent();
    const name = await aRunningSession();
    writeFileSync(`${fixture.saves(name)}/progress`, "level 1");
    const { objectKey } = await storedSave(name, 1);
    writeFileSync(`${fixture.saves(name)}/large`, "");
    truncateSync(`${fixture.saves(name)}/large`, limits.save.unpackedBytes + 1);
    await fixture.condition(name, "SavePersisted", "False", "SaveTooLarge");
    await fixture.endGame(name);
    await fixture.condition(name, "SavePersisted", "True", "SaveTooLarge");
    expect((await fixture.session(name)).status?.save?.objectKey).to.equal(objectKey);
    await fixture.finish(name);
    await eventually(() => !existsSync(fixture.folder(name)), { what: "the folder to be removed" });
  });

  it("stores the newest pack of a pod that was removed abruptly, and reports its age", async () => {
    await fixture.startAgent();
    const name = await aRunningSession();
    writeFileSync(`${fixture.saves(name)}/progress`, "level 3");
    await fixture.packed(name);
    await fixture.removePodAbruptly(name);
    await fixture.condition(name, "SavePersisted", "True", "LastAutosave");
    const { status } = await fixture.session(name);
    expect(status?.save?.final).to.equal(true);
    expect(await fixture.readSaved(status!.save!.objectKey, "progress")).to.equal("level 3");
    expect(status?.conditions?.find(({ type }) => type === "SavePersisted")?.message).to.match(
      /packed at .*, \d+ s ago/,
    );
  });

  it("removes the directory of a session that moved to another node", async () => {
    await fixture.startAgent();
    const name = await fixture.launch(await fixture.createGame());
    await fixture.ordered(name);
    await fixture.operate(name, { nodeName: "another-node" });
    await eventually(() => !existsSync(sessionDirectory(fixture.root, name)), {
      timeoutMs: 20_000,
      what: "the directory to be removed",
    });
    expect(await savesOf(name)).to.deep.equal([]);
  });

  it("keeps storing the saves of a finished session whose pod still runs, and reports the last one", async () => {
    await fixture.startAgent();
    const name = await aRunningSession();
    writeFileSync(`${fixture.saves(name)}/progress`, "level 1");
    await storedSave(name, 1);
    const { podRef } = (await fixture.session(name)).status ?? {};
    const finished = {
      type: "Finished",
      status: "True" as const,
      reason: "SaveNotStored",
      message: "",
      lastTransitionTime: "2030-01-01T00:00:00Z",
    };
    await fixture.operate(name, {
      ...(podRef && { podRef }),
      stoppingAt: "2030-01-01T00:00:00Z",
      conditions: [finished],
    });
    writeFileSync(`${fixture.saves(name)}/progress`, "level 2");
    await storedSave(name, 2);
    expect(await fixture.condition(name, "SavePersisted", "False")).to.equal("Playing");
    writeFileSync(`${fixture.saves(name)}/progress`, "level 3");
    await fixture.endGame(name);
    expect(await fixture.condition(name, "SavePersisted", "True")).to.equal("Stored");
    const { save } = (await fixture.session(name)).status ?? {};
    expect(save?.final).to.equal(true);
    expect(await fixture.readSaved(save?.objectKey ?? "", "progress")).to.equal("level 3");
    await eventually(() => !existsSync(fixture.folder(name)), { what: "the session's folder to be removed" });
  });

  it("reports why the game of a session cannot be used", async () => {
    await fixture.startAgent();
    const unknown = await fixture.launch({ ...(await fixture.createGame()), sha256: "e".repeat(64) });
    await fixture.condition(unknown, "ContentReady", "False", "SourceUnknown");
    const incomplete = await fixture.launch(await fixture.createGame(), { launcher: "other.sh" });
    await fixture.condition(incomplete, "ContentReady", "False", "ArchiveIncomplete");
  });

  it("repeats a download and a restore during which it was killed", async () => {
    const source = await fixture.createGame(3_000_000);
    fixture.proxy.fault = ({ method }) => (method === "GET" ? { bytesPerSecond: 150_000 } : undefined);
    fixture.startProcess();
    const name = await fixture.launch(source);
    const temporary = join(fixture.root, "v1/tmp");
    // The session's folder is created there too.
    await eventually(
      () => existsSync(temporary) && readdirSync(temporary).some((made) => made.startsWith(source.sha256)),
      { timeoutMs: 30_000, what: "the download to run" },
    );
    await fixture.condition(name, "ContentReady", "False", "Downloading");
    await fixture.killProcess();
    expect(readdirSync(temporary)).to.have.length(1);
    expect(existsSync(contentDirectory(fixture.root, source.sha256))).to.equal(false);
    fixture.proxy.fault = undefined;
    fixture.startProcess();
    await fixture.ordered(name);
    await fixture.condition(name, "SaveRestored", "True");
    expect(lstatSync(`${contentDirectory(fixture.root, source.sha256)}/engine/data.bin`).size).to.equal(
      3_000_000,
    );
    expect(readdirSync(temporary)).to.deep.equal([]);
    expect(await fixture.killProcess("SIGTERM")).to.equal(0);
  });
});

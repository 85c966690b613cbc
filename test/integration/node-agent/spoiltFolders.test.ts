import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { findCondition } from "#kube/conditions.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { beforeEachWithNodeAgent, type NodeAgentStage } from "#test/support/fixtures/nodeAgentFixture.ts";

describe("Node agent: session folders that hold what nobody of ours wrote", function () {
  this.timeout(90_000);
  let stage: NodeAgentStage;

  beforeEachWithNodeAgent(async (fresh) => {
    stage = fresh;
    await stage.createGameNode();
  });

  for (const [what, put] of [
    ["a manifest that is none", (packed: string) => writeFileSync(`${packed}/manifest.json`, "{}")],
    ["a manifest that nobody ever finishes writing", (packed: string) => execFileSync("mkfifo", [`${packed}/manifest.json`])],
    ["a manifest of 64 MB", (packed: string) => writeFileSync(`${packed}/manifest.json`, Buffer.alloc(64 * 2 ** 20, "x"))],
    ["a manifest that leads elsewhere", (packed: string) => symlinkSync("/etc/passwd", `${packed}/manifest.json`)],
  ] as const) {
    it(`sets a session aside whose packer's folder holds ${what}, and serves the others`, async () => {
      await stage.startAgent();
      const [name, neighbour] = [await stage.aRunningSession(), await stage.aRunningSession()];
      await stage.killPacker(name);
      rmSync(`${stage.folder(name)}/packed/manifest.json`, { force: true });
      put(`${stage.folder(name)}/packed`);
      await stage.setGame(name, { terminated: { exitCode: 0, reason: "Completed" } });
      await stage.condition(name, "SavePersisted", "True", "SpoolUnreadable");
      writeFileSync(`${stage.saves(neighbour)}/progress`, "level 1");
      await stage.storedSave(neighbour, 1);
      await stage.finish(name);
      await eventually(() => !existsSync(stage.folder(name)), { what: "the folder to be set aside" });
      expect(readdirSync(join(stage.root, "v1/sessions-kept"))).to.deep.equal([name]);
      await eventually(async () => (await stage.eventsOf(stage.node)).includes("SessionSetAside"), { what: "the admin to be told" });
      await eventually(async () => findCondition((await stage.gameNode()).status?.conditions, "SessionsSetAside")?.status === "True", { timeoutMs: 20_000, what: "the condition" });
    });
  }

  it("does not store a pack that is not what its manifest says", async () => {
    await stage.startAgent();
    stage.proxy.fault = ({ method }) => method === "PUT" ? { status: 503 } : undefined;
    const name = await stage.aRunningSession();
    writeFileSync(`${stage.saves(name)}/progress`, "level 1");
    await stage.packed(name);
    await stage.killPacker(name);
    const pack = `${stage.folder(name)}/packed/${stage.packsOf(name)[0] ?? ""}`;
    const bytes = readFileSync(pack);
    bytes[bytes.length - 20]! ^= 0xff;
    writeFileSync(pack, bytes);
    stage.proxy.fault = undefined;
    await stage.setGame(name, { terminated: { exitCode: 0, reason: "Completed" } });
    await stage.condition(name, "SavePersisted", "True", "SpoolUnreadable");
    expect(await stage.storedSaves(`slot-${name}`)).to.deep.equal([]);
  });

  it("makes a spoilt record anew of what the cluster knows", async () => {
    await stage.startAgent();
    const name = await stage.aRunningSession();
    writeFileSync(`${stage.saves(name)}/progress`, "level 1");
    await stage.storedSave(name, 1);
    await stage.stopAgent();
    writeFileSync(`${stage.folder(name)}/session.json`, "{}");
    await stage.startAgent();
    writeFileSync(`${stage.saves(name)}/progress`, "level 2");
    await stage.storedSave(name, 2);
    await stage.endGame(name);
    await stage.condition(name, "SavePersisted", "True", "Stored");
  });

  it("sets a spoilt record aside that no session belongs to", async () => {
    mkdirSync(`${stage.root}/v1/sessions/gs-nobodys`, { recursive: true });
    writeFileSync(`${stage.root}/v1/sessions/gs-nobodys/session.json`, "{}");
    await stage.startAgent();
    await eventually(() => existsSync(join(stage.root, "v1/sessions-kept/gs-nobodys/session.json")), { what: "the folder to be set aside" });
  });

  it("stores what a pod of the previous release left, whatever a game has made of it", async () => {
    const source = await stage.createGame();
    await stage.startAgent();
    const name = await stage.launch(source);
    await stage.ordered(name);
    await stage.stopAgent();
    const { metadata: { uid } } = await stage.session(name);
    const saves = `${stage.folder(name)}/save`;
    for (const part of ["restore.json", "packed"]) rmSync(`${stage.folder(name)}/${part}`, { recursive: true });
    writeFileSync(`${stage.folder(name)}/session.json`, JSON.stringify({
      version: 1, namespace: stage.namespace, gameSession: name, uid, contentDigest: source.sha256, slotId: `slot-${name}`, baseGeneration: 0, sequence: 4,
    }));
    mkdirSync(saves);
    writeFileSync(`${saves}/progress`, "level 6");
    execFileSync("bash", ["-c", `cd "$1"; n=$(printf %0200d 0); for i in $(seq 30); do mkdir $n; cd -P $n; done`, "-", saves]);
    await stage.createPod(name, [{ name: "session", hostPath: { path: stage.folder(name), type: "Directory" } }]);
    await stage.setGame(name, { running: { startedAt: new Date().toISOString() } });
    await stage.operate(name, { podRef: { name, uid } });
    await stage.startAgent();
    await stage.setGame(name, { terminated: { exitCode: 0, reason: "Completed" } });
    await stage.condition(name, "SavePersisted", "True", "Stored");
    const save = (await stage.session(name)).status?.save;
    expect(save).to.include({ generation: 1, sequence: 5, final: true });
    expect(await stage.readSaved(save!.objectKey, "progress")).to.equal("level 6");
    await stage.finish(name);
    await eventually(() => !existsSync(stage.folder(name)), { what: "the folder to be removed" });
    await eventually(() => readdirSync(`${stage.root}/v1/trash`).length === 0, { timeoutMs: 20_000, what: "its depths to be taken apart" });
  });
});

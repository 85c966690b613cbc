import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { contentDirectory, objectDirectory, sessionUserId, spoolNames } from "#contracts/nodeLayout.ts";
import { SpoolManifest, type PackedSave } from "#contracts/spool.ts";
import { makePackedFolder } from "#node-agent/spool/orderRestore.ts";
import { openSpoolFile } from "#node-agent/spool/readSpool.ts";
import { findCondition } from "#kube/api/conditions.ts";
import { systemClock } from "#runtime/scheduling/clock.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { JumpClock } from "#test/support/clocks/jumpClock.ts";
import { beforeEachWithNodeAgent, type NodeAgentFixture } from "#test/support/fixtures/nodeAgentFixture.ts";

interface Packed {
  pack: string;
  manifest: string;
}

function rewriteManifest(path: string, change: Partial<PackedSave>): void {
  const manifest = SpoolManifest.parse(JSON.parse(readFileSync(path, "utf8")));
  writeFileSync(path, JSON.stringify({ ...manifest, save: { ...manifest.save, ...change } }));
}

describe("Node agent: damaged and hostile session folders:", function () {
  this.timeout(90_000);
  let fixture: NodeAgentFixture;

  beforeEachWithNodeAgent(async (fresh) => {
    fixture = fresh;
    await fixture.createGameNode();
  });

  it("resumes a session whose packer has no folder yet, as after a kill of the agent before creating it", async () => {
    await fixture.startAgent();
    fixture.proxy.fault = ({ method }) => (method === "GET" ? { status: 503 } : undefined);
    const name = await fixture.launch(await fixture.createGame());
    await eventually(() => existsSync(`${fixture.folder(name)}/session.json`), {
      what: "the session's record",
    });
    await fixture.stopAgent();
    rmSync(`${fixture.folder(name)}/packed`, { recursive: true, force: true });
    fixture.proxy.fault = undefined;
    await fixture.startAgent();
    await fixture.ordered(name);
    await fixture.startPod(name);
    expect(statSync(`${fixture.folder(name)}/packed`).uid).to.equal(sessionUserId);
  });

  for (const [what, put] of [
    ["a manifest that is none", (packed: string) => writeFileSync(`${packed}/manifest.json`, "{}")],
    [
      "a manifest that nobody ever finishes writing",
      (packed: string) => execFileSync("mkfifo", [`${packed}/manifest.json`]),
    ],
    [
      "a manifest of 64 MB",
      (packed: string) => writeFileSync(`${packed}/manifest.json`, Buffer.alloc(64 * 2 ** 20, "x")),
    ],
    [
      "a manifest that leads elsewhere",
      (packed: string) => symlinkSync("/etc/passwd", `${packed}/manifest.json`),
    ],
  ] as const) {
    it(`sets aside a session whose spool has ${what}, and serves the others`, async () => {
      await fixture.startAgent();
      const [name, neighbour] = [await fixture.aRunningSession(), await fixture.aRunningSession()];
      await fixture.killPacker(name);
      rmSync(`${fixture.folder(name)}/packed/manifest.json`, { force: true });
      put(`${fixture.folder(name)}/packed`);
      await fixture.setGame(name, { terminated: { exitCode: 0, reason: "Completed" } });
      await fixture.condition(name, "SavePersisted", "True", "SpoolUnreadable");
      writeFileSync(`${fixture.saves(neighbour)}/progress`, "level 1");
      await fixture.storedSave(neighbour, 1);
      await fixture.finish(name);
      await eventually(() => !existsSync(fixture.folder(name)), { what: "the folder to be set aside" });
      expect(readdirSync(join(fixture.root, "v1/sessions-kept"))).to.deep.equal([name]);
      await eventually(async () => (await fixture.eventsOf(fixture.node)).includes("SessionSetAside"), {
        what: "the admin to be told",
      });
      await eventually(
        async () =>
          findCondition((await fixture.gameNode()).status?.conditions, "SessionsSetAside")?.status === "True",
        { timeoutMs: 20_000, what: "the condition" },
      );
    });
  }

  it("sets aside a session whose manifest could not be read for a minute, and not before", async () => {
    const clock = new JumpClock();
    await fixture.startAgent({}, { clock, requestClock: systemClock });
    const name = await fixture.aRunningSession();
    writeFileSync(`${fixture.saves(name)}/progress`, "level 1");
    await fixture.storedSave(name, 1);
    await fixture.killPacker(name);
    // To read memory where there is none fails as a disk does: by EIO.
    execFileSync("mount", [
      "--bind",
      `/proc/${process.pid}/mem`,
      `${fixture.folder(name)}/${spoolNames.manifest}`,
    ]);
    fixture.atEnd(() => {
      for (const folder of [fixture.folder(name), join(fixture.root, "v1/sessions-kept", name)])
        spawnSync("umount", [`${folder}/${spoolNames.manifest}`]);
    });
    const begunMs = clock.monotonicMs();
    await fixture.setGame(name, { terminated: { exitCode: 0, reason: "Completed" } });
    const { message } = await eventually(
      async () => {
        clock.jump(2_000);
        const persisted = findCondition((await fixture.session(name)).status?.conditions, "SavePersisted");
        return persisted?.reason === "SpoolUnreadable" && persisted.status === "True" && persisted;
      },
      { timeoutMs: 20_000, what: "the session to be settled" },
    );
    expect(clock.monotonicMs() - begunMs).to.be.at.least(60_000);
    expect(message).to.match(
      /^The packer's data cannot be read from the disk: .*EIO.* The slot has save 1 of this session\.$/,
    );
    await fixture.finish(name);
    await eventually(() => existsSync(join(fixture.root, "v1/sessions-kept", name)), {
      timeoutMs: 20_000,
      what: "the folder to be set aside",
    });
  });

  for (const [what, damage] of [
    [
      "whose bytes are not those that its manifest names",
      ({ pack }: Packed) => {
        const bytes = readFileSync(pack);
        bytes[bytes.length - 20]! ^= 0xff;
        writeFileSync(pack, bytes);
      },
    ],
    [
      "whose digest is not the one that its manifest names",
      ({ manifest }: Packed) => rewriteManifest(manifest, { sha256: "0".repeat(64) }),
    ],
    [
      "that its manifest names, and that holds a link out of its folder",
      ({ pack, manifest }: Packed) => {
        const folder = mkdtempSync(join(tmpdir(), "joypod-link-"));
        symlinkSync("/etc/passwd", join(folder, "progress"));
        execFileSync("tar", ["-C", folder, "--numeric-owner", "-czf", pack, "progress"]);
        rmSync(folder, { recursive: true });
        const bytes = readFileSync(pack);
        rewriteManifest(manifest, {
          bytes: bytes.length,
          sha256: createHash("sha256").update(bytes).digest("hex"),
        });
      },
    ],
    ["that its manifest names, and that is gone", ({ pack }: Packed) => rmSync(pack)],
  ] as const) {
    it(`does not store a pack ${what}`, async () => {
      await fixture.startAgent();
      fixture.proxy.fault = ({ method }) => (method === "PUT" ? { status: 503 } : undefined);
      const name = await fixture.aRunningSession();
      writeFileSync(`${fixture.saves(name)}/progress`, "level 1");
      await fixture.packed(name);
      await fixture.killPacker(name);
      // An upload that had begun before would go on with the pack that it has read.
      await fixture.stopAgent();
      const folder = `${fixture.folder(name)}/packed`;
      damage({ pack: `${folder}/${fixture.packsOf(name)[0] ?? ""}`, manifest: `${folder}/manifest.json` });
      fixture.proxy.fault = undefined;
      await fixture.startAgent();
      await fixture.setGame(name, { terminated: { exitCode: 0, reason: "Completed" } });
      await fixture.condition(name, "SavePersisted", "True", "SpoolUnreadable");
      expect(await fixture.storedSaves(`slot-${name}`)).to.deep.equal([]);
    });
  }

  it("rebuilds a corrupt session record from the cluster", async () => {
    await fixture.startAgent();
    const name = await fixture.aRunningSession();
    writeFileSync(`${fixture.saves(name)}/progress`, "level 1");
    await fixture.storedSave(name, 1);
    await fixture.stopAgent();
    writeFileSync(`${fixture.folder(name)}/session.json`, "{}");
    await fixture.startAgent();
    writeFileSync(`${fixture.saves(name)}/progress`, "level 2");
    await fixture.storedSave(name, 2);
    await fixture.endGame(name);
    await fixture.condition(name, "SavePersisted", "True", "Stored");
  });

  it("sets aside a corrupt record that belongs to no session", async () => {
    mkdirSync(`${fixture.root}/v1/sessions/gs-nobodys`, { recursive: true });
    writeFileSync(`${fixture.root}/v1/sessions/gs-nobodys/session.json`, "{}");
    await fixture.startAgent();
    await eventually(() => existsSync(join(fixture.root, "v1/sessions-kept/gs-nobodys/session.json")), {
      what: "the folder to be set aside",
    });
  });

  for (const [what, part] of [
    ["folder", ""],
    ["files", "/content"],
  ] as const) {
    it(`downloads a game again if its ${what} was removed`, async () => {
      await fixture.startAgent();
      const source = await fixture.createGame();
      const earlier = await fixture.launch(source);
      await fixture.ordered(earlier);
      await fixture.finish(earlier);
      rmSync(`${objectDirectory(fixture.root, source.sha256)}${part}`, { recursive: true });
      await fixture.ordered(await fixture.launch(source));
      expect(existsSync(`${contentDirectory(fixture.root, source.sha256)}/run.sh`)).to.equal(true);
    });
  }

  it("gives the packer's folder to the session's user if someone else created it", async () => {
    const folder = join(fixture.root, "session");
    mkdirSync(`${folder}/${spoolNames.packed}`, { recursive: true });
    await makePackedFolder(folder);
    expect(statSync(`${folder}/${spoolNames.packed}`)).to.include({ uid: sessionUserId, gid: sessionUserId });
  });

  it("are not treated as hostile after a temporary system error", async () => {
    const error: unknown = await openSpoolFile(join(fixture.root, "a".repeat(300))).catch(
      (thrown: unknown) => thrown,
    );
    expect(error).to.be.an("error").and.include({ code: "ENAMETOOLONG" });
  });
});

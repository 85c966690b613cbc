import { chownSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { randomBytes } from "node:crypto";
import { expect } from "chai";
import { packTar, type TarEntry } from "modern-tar";
import { sessionUserId, spoolNames } from "#contracts/nodeLayout.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { createPackerStage, packerUid, type PackerStage, type PackerStageOptions } from "#test/support/fixtures/packerFixture.ts";

describe("the packer restores", () => {
  let stage: PackerStage;
  const open = (options?: PackerStageOptions): PackerStage => stage = createPackerStage(options);
  const restored = () => eventually(() => stage.report(), { what: "the report" });

  afterEach(() => stage.remove());

  it("an empty directory for a new playthrough, and tells its parent", async () => {
    open();
    const life = await stage.play();
    expect(stage.report()).to.deep.equal({ version: 1, uid: packerUid });
    expect(statSync(stage.saves)).to.include({ uid: sessionUserId, mode: 0o40700 });
    await eventually(() => life.messages.includes("restored"));
  });

  it("waits for an order, and takes none of another session", async () => {
    open();
    const life = stage.start();
    stage.order(undefined, { uid: "somebody-else" });
    await eventually(() => life.log().length > 0, { what: "a word about the wrong order" });
    expect(stage.report()).to.equal(undefined);
    expect(existsSync(stage.saves)).to.equal(false);
    stage.order();
    await eventually(() => existsSync(stage.saves));
  });

  it("ends without a word when no order came", async () => {
    open();
    const life = stage.start();
    await life.finish();
    expect(life.messages).to.deep.equal(["done"]);
    expect(stage.manifest()).to.equal(undefined);
  });

  it("a save with its times, modes and content", async () => {
    open();
    const body = randomBytes(3_000_000);
    stage.order(await save(file("a/b/deep.bin", body, 0o600, 1_500_000_000), file("run.sh", Buffer.from("#!"), 0o755, 1_600_000_000)));
    stage.start();
    await eventually(() => existsSync(stage.saves));
    expect(readFileSync(join(stage.saves, "a/b/deep.bin")).equals(body)).to.equal(true);
    expect(statSync(join(stage.saves, "a/b/deep.bin"))).to.include({ mtimeMs: 1_500_000_000_000, mode: 0o100600, uid: sessionUserId });
    expect(statSync(join(stage.saves, "run.sh"))).to.include({ mtimeMs: 1_600_000_000_000, mode: 0o100700 });
    expect(statSync(join(stage.saves, "a/b"))).to.include({ mode: 0o40700 });
  });

  it("nothing that is damaged, forbidden or too large, and says why", async () => {
    const good = await save(file("a", Buffer.from("a")));
    const link = gzipSync(await packTar([{ header: { name: "l", type: "symlink", size: 0, linkname: "/etc" } }]));
    const cases: { archive: Buffer; claims?: { sha256?: string; bytes?: number }; reason: string; says: RegExp }[] = [
      { archive: good, claims: { sha256: "0".repeat(64) }, reason: "ChecksumMismatch", says: /SHA-256/ },
      { archive: good, claims: { bytes: good.length + 1 }, reason: "ChecksumMismatch", says: /bytes instead of/ },
      { archive: good.subarray(0, 40), claims: { sha256: "0".repeat(64) }, reason: "ChecksumMismatch", says: /SHA-256/ },
      { archive: link, reason: "SaveRefused", says: /"l" is a symbolic link/ },
      { archive: gzipSync("no tar".repeat(200)), reason: "SaveRefused", says: /not a tar archive/ },
      { archive: await save(file("big", randomBytes(6 * 2 ** 20))), reason: "SaveVolumeFull", says: /does not fit/ },
    ];
    for (const { archive, claims, reason, says } of cases) {
      stage?.remove(); // eslint-disable-line @typescript-eslint/no-unnecessary-condition
      open({ volumeMb: 4 });
      stage.order(archive, claims);
      const life = stage.start();
      const { refused } = await restored();
      expect(refused?.reason).to.equal(reason);
      expect(refused?.message).to.match(says);
      expect(existsSync(stage.saves), reason).to.equal(false);
      expect(existsSync(join(stage.volume, ".restoring")), reason).to.equal(false);
      expect(await life.finish()).to.equal(0);
      expect(existsSync(stage.saves), reason).to.equal(false);
    }
  });

  it("a fresh copy after an earlier life ended halfway", async () => {
    open();
    mkdirSync(stage.saves);
    chownSync(stage.saves, sessionUserId, sessionUserId);
    stage.game("echo half > half");
    renameSync(stage.saves, join(stage.volume, ".restoring"));
    stage.order(await save(file("whole", Buffer.from("whole"))));
    stage.start();
    await eventually(() => existsSync(stage.saves));
    expect(existsSync(join(stage.saves, "half"))).to.equal(false);
    expect(readFileSync(join(stage.saves, "whole"), "utf8")).to.equal("whole");
  });

  it("what an earlier life had finished and told of, and no second time", async () => {
    open();
    stage.order(await save(file("a", Buffer.from("ordered"))));
    const first = stage.start();
    await eventually(() => existsSync(stage.saves));
    first.process.kill("SIGKILL");
    await first.exited;
    // As a crash between the report and the last rename leaves it.
    renameSync(stage.saves, join(stage.volume, ".restoring"));
    rmSync(stage.spooled(spoolNames.orderedArchive));
    stage.start();
    await eventually(() => existsSync(stage.saves));
    expect(readFileSync(join(stage.saves, "a"), "utf8")).to.equal("ordered");
  });

  it("nothing once a game could have run, whatever became of its directory", async () => {
    open();
    stage.order(await save(file("a", Buffer.from("ordered"))));
    const first = stage.start();
    await eventually(() => stage.manifest(), { what: "the first life's attempt" });
    first.process.kill("SIGKILL");
    await first.exited;
    stage.game("echo played > a");
    const second = stage.start();
    await stage.packed(({ attempt }) => attempt === 2);
    expect(readFileSync(join(stage.saves, "a"), "utf8")).to.equal("played\n");
    await second.finish();
    rmSync(stage.saves, { recursive: true });
    const third = stage.start();
    await eventually(() => stage.manifest()?.refused?.reason === "SaveMissing");
    expect(existsSync(stage.saves)).to.equal(false);
    expect(await third.finish()).to.equal(0);
  });

  it("nothing over saves that nobody restored", async () => {
    open();
    mkdirSync(stage.saves);
    writeFileSync(join(stage.saves, "mine"), "mine");
    stage.order(await save(file("a", Buffer.from("ordered"))));
    stage.start();
    expect((await restored()).refused?.reason).to.equal("SaveVolumeInUse");
    expect(readFileSync(join(stage.saves, "mine"), "utf8")).to.equal("mine");
  });
});

function file(name: string, body: Buffer, mode = 0o600, seconds = 1_000_000_000): TarEntry {
  return { header: { name, size: body.length, mode, mtime: new Date(seconds * 1000) }, body };
}

async function save(...entries: TarEntry[]): Promise<Buffer> {
  return gzipSync(await packTar(entries));
}

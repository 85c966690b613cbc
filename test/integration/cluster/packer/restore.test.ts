import {
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { randomBytes } from "node:crypto";
import { expect } from "chai";
import { packTar, type TarEntry } from "modern-tar";
import { sessionUserId, spoolNames } from "#contracts/nodeLayout.ts";
import { aTarGz } from "#test/factories/tarArchive.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import {
  createPackerFixture,
  packerUid,
  type PackerFixture,
  type PackerFixtureOptions,
  type PackerRun,
} from "#test/support/fixtures/packerFixture.ts";

describe("the packer restoring saves", () => {
  let fixture: PackerFixture;
  const open = (options?: PackerFixtureOptions): PackerFixture => (fixture = createPackerFixture(options));
  /** Waits for the report and, unless it refuses the save, for the directory, which appears after it. */
  const restored = () =>
    eventually(
      () => {
        const report = fixture.report();
        return report !== undefined && (report.refused !== undefined || existsSync(fixture.saves)) && report;
      },
      { what: "the report" },
    );

  afterEach(() => fixture.remove());

  /** Leaves the volume as a packer that was killed while unpacking does. */
  function leaveHalf(): void {
    mkdirSync(fixture.saves);
    chownSync(fixture.saves, sessionUserId, sessionUserId);
    fixture.game("echo half > half");
    renameSync(fixture.saves, join(fixture.volume, ".restoring"));
  }

  it("creates an empty directory for a new playthrough and notifies its parent", async () => {
    open();
    const run = await fixture.play();
    expect(fixture.report()).to.deep.equal({ version: 1, uid: packerUid });
    expect(statSync(fixture.saves)).to.include({ uid: sessionUserId, mode: 0o40700 });
    await eventually(() => run.messages.includes("restored"));
  });

  it("waits for an order and ignores one of another session", async () => {
    open();
    const run = fixture.start();
    fixture.order(undefined, { uid: "somebody-else" });
    await eventually(() => run.log().length > 0, { what: "a word about the wrong order" });
    expect(fixture.report()).to.equal(undefined);
    expect(existsSync(fixture.saves)).to.equal(false);
    fixture.order();
    await eventually(() => existsSync(fixture.saves));
  });

  it("restores a save accepted before header records were bounded", async () => {
    open();
    fixture.order(
      aTarGz([
        { name: "pax", type: "x", body: "5 a=\n".repeat(129) },
        { name: "a", body: "kept" },
      ]),
    );
    fixture.start();
    await restored();
    expect(readFileSync(join(fixture.saves, "a"), "utf8")).to.equal("kept");
  });

  it("ends without a report when no order came", async () => {
    open();
    const run = fixture.start();
    await run.finish();
    expect(run.messages).to.deep.equal(["done"]);
    expect(fixture.manifest()).to.equal(undefined);
  });

  it("restores a save with its times, modes and content", async () => {
    open();
    const body = randomBytes(3_000_000);
    fixture.order(
      await save(
        file("a/b/deep.bin", body, 0o600, 1_500_000_000),
        file("run.sh", Buffer.from("#!"), 0o755, 1_600_000_000),
      ),
    );
    fixture.start();
    await eventually(() => existsSync(fixture.saves));
    expect(readFileSync(join(fixture.saves, "a/b/deep.bin")).equals(body)).to.equal(true);
    expect(statSync(join(fixture.saves, "a/b/deep.bin"))).to.include({
      mtimeMs: 1_500_000_000_000,
      mode: 0o100600,
      uid: sessionUserId,
    });
    expect(statSync(join(fixture.saves, "run.sh"))).to.include({
      mtimeMs: 1_600_000_000_000,
      mode: 0o100700,
    });
    expect(statSync(join(fixture.saves, "a/b"))).to.include({ mode: 0o40700 });
  });

  it("rejects a damaged, forbidden or too large save with the reason", async () => {
    const good = await save(file("a", Buffer.from("a")));
    const link = gzipSync(
      await packTar([{ header: { name: "l", type: "symlink", size: 0, linkname: "/etc" } }]),
    );
    const cases: {
      archive: Buffer;
      claims?: { sha256?: string; bytes?: number };
      reason: string;
      says: RegExp;
    }[] = [
      { archive: good, claims: { sha256: "0".repeat(64) }, reason: "ChecksumMismatch", says: /SHA-256/ },
      {
        archive: good,
        claims: { bytes: good.length + 1 },
        reason: "ChecksumMismatch",
        says: /bytes instead of/,
      },
      {
        archive: good.subarray(0, 40),
        claims: { sha256: "0".repeat(64) },
        reason: "ChecksumMismatch",
        says: /SHA-256/,
      },
      { archive: link, reason: "SaveRefused", says: /"l" is a symbolic link/ },
      { archive: gzipSync("no tar".repeat(200)), reason: "SaveRefused", says: /not a tar archive/ },
      {
        archive: await save(file("big", randomBytes(6 * 2 ** 20))),
        reason: "SaveVolumeFull",
        says: /does not fit/,
      },
    ];
    for (const { archive, claims, reason, says } of cases) {
      fixture?.remove(); // oxlint-disable-line typescript/no-unnecessary-condition
      open({ volumeMb: 4 });
      fixture.order(archive, claims);
      const run = fixture.start();
      const { refused } = await restored();
      expect(refused?.reason).to.equal(reason);
      expect(refused?.message).to.match(says);
      expect(existsSync(fixture.saves), reason).to.equal(false);
      expect(existsSync(join(fixture.volume, ".restoring")), reason).to.equal(false);
      expect(await run.finish()).to.equal(0);
      expect(existsSync(fixture.saves), reason).to.equal(false);
    }
  });

  it("restores a fresh copy after an earlier process ended halfway", async () => {
    open();
    leaveHalf();
    fixture.order(await save(file("whole", Buffer.from("whole"))));
    fixture.start();
    await eventually(() => existsSync(fixture.saves));
    expect(existsSync(join(fixture.saves, "half"))).to.equal(false);
    expect(readFileSync(join(fixture.saves, "whole"), "utf8")).to.equal("whole");
  });

  it("keeps what an earlier process restored and reported, without a second restore", async () => {
    open();
    fixture.order(await save(file("a", Buffer.from("ordered"))));
    const first = fixture.start();
    await eventually(() => existsSync(fixture.saves));
    first.process.kill("SIGKILL");
    await first.exited;
    // Leaves the state of a crash between the marker and the final rename.
    renameSync(fixture.saves, join(fixture.volume, ".restoring"));
    rmSync(fixture.spooled(spoolNames.orderedArchive));
    fixture.start();
    await eventually(() => existsSync(fixture.saves));
    expect(readFileSync(join(fixture.saves, "a"), "utf8")).to.equal("ordered");
  });

  it("restores nothing once a game could have run, even if its directory changed", async () => {
    open();
    fixture.order(await save(file("a", Buffer.from("ordered"))));
    const first = fixture.start();
    await eventually(() => fixture.manifest(), { what: "the first run's attempt" });
    first.process.kill("SIGKILL");
    await first.exited;
    fixture.game("echo played > a");
    const second = fixture.start();
    await fixture.packed(({ attempt }) => attempt === 2);
    expect(readFileSync(join(fixture.saves, "a"), "utf8")).to.equal("played\n");
    await second.finish();
    rmSync(fixture.saves, { recursive: true });
    const third = fixture.start();
    await eventually(() => fixture.manifest()?.refused?.reason === "SaveMissing");
    expect(existsSync(fixture.saves)).to.equal(false);
    expect(await third.finish()).to.equal(0);
  });

  describe("for a pod that replaces one removed during its start", () => {
    /**
     * The next pod has another volume, in which an earlier process may have started, and the same folder on
     * the node.
     */
    async function nextPod(begin: () => void = () => undefined): Promise<string[]> {
      for (const name of readdirSync(fixture.volume)) rmSync(join(fixture.volume, name), { recursive: true });
      begin();
      fixture.start();
      await eventually(() => existsSync(fixture.saves), { what: "the next pod's saves" });
      return readdirSync(fixture.saves);
    }
    const firstPod = async (archive: Buffer | undefined): Promise<PackerRun> => {
      open();
      fixture.order(archive);
      const run = fixture.start();
      await eventually(() => existsSync(fixture.saves), { what: "the first pod's saves" });
      return run;
    };

    it("restores the ordered save when the pod was killed", async () => {
      for (const [archive, names] of [
        [await save(file("a", Buffer.from("ordered"))), ["a"]],
        [undefined, []],
      ] as const) {
        fixture?.remove(); // oxlint-disable-line typescript/no-unnecessary-condition
        const run = await firstPod(archive);
        run.process.kill("SIGKILL");
        await run.exited;
        expect(await nextPod()).to.deep.equal(names);
      }
    });

    it("restores the last pack", async () => {
      const run = await firstPod(await save(file("a", Buffer.from("ordered"))));
      fixture.game("echo played > b");
      expect(await run.finish()).to.equal(0);
      expect(await nextPod()).to.have.members(["a", "b"]);
    });

    it("restores a fresh copy after an earlier process in this pod ended halfway", async () => {
      const run = await firstPod(await save(file("a", Buffer.from("ordered"))));
      run.process.kill("SIGKILL");
      await run.exited;
      expect(await nextPod(leaveHalf)).to.deep.equal(["a"]);
    });
  });

  it("does not overwrite saves that it did not restore", async () => {
    open();
    mkdirSync(fixture.saves);
    writeFileSync(join(fixture.saves, "mine"), "mine");
    fixture.order(await save(file("a", Buffer.from("ordered"))));
    fixture.start();
    expect((await restored()).refused?.reason).to.equal("SaveVolumeInUse");
    expect(readFileSync(join(fixture.saves, "mine"), "utf8")).to.equal("mine");
  });
});

function file(name: string, body: Buffer, mode = 0o600, seconds = 1_000_000_000): TarEntry {
  return { header: { name, size: body.length, mode, mtime: new Date(seconds * 1000) }, body };
}

async function save(...entries: TarEntry[]): Promise<Buffer> {
  return gzipSync(await packTar(entries));
}

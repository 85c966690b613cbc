import { spawn } from "node:child_process";
import { readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { limits } from "#contracts/limits.ts";
import { sessionUserId } from "#contracts/nodeLayout.ts";
import type { PackedSave } from "#contracts/spool.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import {
  archivesIn,
  createPackerFixture,
  type PackerRun,
  type PackerFixture,
} from "#test/support/fixtures/packerFixture.ts";

const mib = 2 ** 20;

describe("the packer with a hostile game's saves", function () {
  this.timeout(60_000);
  let fixture: PackerFixture;
  let run: PackerRun;
  let good: PackedSave;

  beforeEach(async () => {
    fixture = createPackerFixture({ volumeMb: 64 });
    run = await fixture.play();
    fixture.game("echo good > a");
    good = await fixture.packed();
  });

  afterEach(() => fixture.remove());

  /** The packer keeps running, has logged little, and this is its last message. */
  async function expectRefused(reason: string): Promise<void> {
    await eventually(() => fixture.manifest()?.refused?.reason === reason, { what: reason });
    expect(fixture.manifest()!.save, "the last good pack").to.deep.equal(good);
    expect(await run.finish()).to.equal(0);
    expect(fixture.manifest()).to.deep.include({ final: true, save: good });
    expect(fixture.manifest()!.refused!.reason).to.equal(reason);
    expect(archivesIn(fixture)).to.have.length(1);
    expect(run.log()).to.have.length.at.most(3);
  }

  async function expectLeftOut(example: RegExp, count?: number): Promise<void> {
    expect(await run.finish()).to.equal(0);
    const { save, refused, final } = fixture.manifest()!;
    expect({ refused, final }).to.deep.equal({ refused: undefined, final: true });
    expect(fixture.content(save!)).to.include({ a: "good\n" });
    expect(save!.leftOut?.example).to.match(example);
    if (count !== undefined) expect(save!.leftOut?.count).to.equal(count);
    expect(run.log()).to.have.length.at.most(3);
  }

  function residentBytes(): number {
    return 1024 * Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${run.process.pid}/status`, "utf8"))![1]);
  }

  for (const [kind, make] of [
    ["files", "open(f'{n:0200}', 'w').close()"],
    ["links", "os.symlink('/etc', f'{n:0200}')"],
  ] as const) {
    it(`rejects endless ${kind} without reading all their names`, async () => {
      const before = residentBytes();
      // Created outside the saves until complete: packing the first of them would take more memory than
      // rejecting all.
      fixture.game(
        `mkdir ../many; cd ../many; python3 -c "\nimport os\nfor n in range(250000): ${make}\n"; mv ../many ../save`,
      );
      await eventually(() => fixture.manifest()?.refused?.reason === "SaveTooLarge", { timeoutMs: 20_000 });
      expect(residentBytes() - before).to.be.below(48 * mib);

      await expectRefused("SaveTooLarge");
    });
  }

  it("rejects a sparse file of a terabyte without reading it", async () => {
    fixture.game("truncate --size 1T sparse");
    await expectRefused("SaveTooLarge");
    expect(fixture.manifest()!.refused!.message).to.contain(String(limits.save.unpackedBytes));
  });

  it("stores a sparse file that is not too large", async () => {
    fixture.game("truncate --size 100M sparse");
    const save = await fixture.packed(({ files }) => files === 2);
    expect(save.bytes).to.be.below(mib);
    expect(save.unpackedBytes).to.equal(100 * mib + 4096);
  });

  it("leaves out folders deeper than a path can name", async () => {
    fixture.game("n=$(printf %0200d 0); for i in $(seq 30); do mkdir $n; cd $n; done; touch bottom");
    await expectLeftOut(/^"0{100}.*has a path longer than 1024 bytes$/, 1);
  });

  it("leaves out links, FIFOs, sockets and names that are not text", async () => {
    fixture.game(
      `ln -s /etc link; mkfifo fifo; touch $'\\xff'; touch $'line\\nfeed'; python3 -c "import socket; socket.socket(socket.AF_UNIX).bind('socket')"`,
    );
    await fixture.packed(({ leftOut }) => leftOut !== undefined);
    await expectLeftOut(/^"[a-z\\�]+" (is|has) [a-z .-]+$/i, 5);
  });

  it("leaves out files that it cannot read", async () => {
    fixture.game("echo secret > b; chmod 000 b; mkdir c d; touch c/x d/x; chmod 000 c; chmod 400 d");
    await expectLeftOut(/cannot be read \(EACCES\)$/, 3);
  });

  it("keeps the last good save when the directory becomes a link", async () => {
    fixture.game("cd ..; mv save gone; ln -s /etc save");
    await expectRefused("SaveMissing");
  });

  it("keeps the last good save when the directory becomes a file", async () => {
    fixture.game("cd ..; rm -r save; echo file > save");
    await expectRefused("SaveMissing");
  });

  it("keeps the last good save when it cannot enter the directory", async () => {
    fixture.game("chmod 000 .");
    await expectRefused("SaveUnreadable");
  });

  it("packs again once a game has repaired its directory", async () => {
    fixture.game("cd ..; mv save gone");
    await eventually(() => fixture.manifest()?.refused);
    renameSync(join(fixture.volume, "gone"), fixture.saves);
    await eventually(() => fixture.manifest()?.refused === undefined);
    expect(fixture.manifest()!.save).to.deep.equal(good);
  });

  it("stores files that grow, shrink, come and go while they are read", async () => {
    const game = spawn(
      "python3",
      [
        "-c",
        `
import os, random
while True:
  for name in ('x', 'y', 'z'):
    with open(name, 'r+b' if os.path.exists(name) else 'wb') as file:
      file.seek(0, 2); file.write(b'.' * random.randrange(3 << 20)); file.truncate(random.randrange(4 << 20))
    if random.random() < 0.2: os.remove(name)
    if random.random() < 0.2:
      try: os.mkdir('d'); os.rename('x', 'd/x')
      except OSError: pass
    elif random.random() < 0.2:
      try: os.remove('d/x'); os.rmdir('d')
      except OSError: pass
`,
      ],
      { cwd: fixture.saves, uid: sessionUserId, gid: sessionUserId, stdio: "ignore" },
    );
    try {
      for (let wanted = 2; wanted <= 6; wanted += 1)
        fixture.content(await fixture.packed(({ sequence }) => sequence >= wanted));
    } catch (error) {
      // The pack may have been replaced between reading its name and its bytes, which can happen to the agent
      // too.
      if (!(error instanceof Error && error.message.includes("ENOENT"))) throw error;
    } finally {
      game.kill("SIGKILL");
    }
    expect(await run.finish()).to.equal(0);
    expect(fixture.content(fixture.manifest()!.save!)).to.include({ a: "good\n" });
    expect(run.log()).to.deep.equal([]);
  });

  it("stores times that tar cannot represent as the nearest possible time", async () => {
    fixture.game("touch -d '1901-01-01' old; touch -d '2400-01-01' future");
    const save = await fixture.packed(({ files }) => files === 3);
    expect(Object.keys(fixture.content(save))).to.deep.equal(["a", "future", "old"]);
  });
});

import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import {
  gameOutputBytes,
  packedArchiveName,
  packedPictureName,
  sessionUserId,
  spoolNames,
} from "#contracts/nodeLayout.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import {
  archivesIn,
  createPackerFixture,
  packerUid,
  type PackerFixture,
  type PackerFixtureOptions,
} from "#test/support/fixtures/packerFixture.ts";

describe("the packer packing saves", () => {
  let fixture: PackerFixture;
  const open = (options?: PackerFixtureOptions): PackerFixture => (fixture = createPackerFixture(options));

  afterEach(() => fixture.remove());

  it("packs a changed save and keeps one pack at a time", async () => {
    open();
    await fixture.play();
    fixture.game("mkdir -p slots/1; echo one > slots/1/save; echo '#!' > tool; chmod 700 tool");
    const first = await fixture.packed();
    expect(fixture.content(first)).to.deep.equal({
      slots: undefined,
      "slots/1": undefined,
      "slots/1/save": "one\n",
      tool: "#!\n",
    });
    expect(first).to.include({ sequence: 1, attempt: 1, entries: 4, files: 2, unpackedBytes: 8192 });
    expect(fixture.manifest()).to.include({ uid: packerUid, attempt: 1, final: false });
    fixture.game("echo two > slots/1/save");
    const second = await fixture.packed(({ sequence }) => sequence === 2);
    expect(fixture.content(second)["slots/1/save"]).to.equal("two\n");
    await eventually(() => archivesIn(fixture).join() === packedArchiveName(second));
  });

  it("writes the latest picture with each pack, and removes it with the pack", async () => {
    open();
    const run = await fixture.play();
    const show = (picture: string): Promise<void> =>
      new Promise((resolve, reject) =>
        run.process.send({ t: "picture", jpeg: Buffer.from(picture).toString("base64") }, (error) =>
          error === null ? resolve() : reject(error),
        ),
      );
    await show("one");
    await show("two");
    fixture.game("echo one > save");
    const first = await fixture.packed();
    expect(readFileSync(fixture.spooled(`packed/${packedPictureName(first)}`), "utf8")).to.equal("two");
    await show("three");
    fixture.game("echo two > save");
    const second = await fixture.packed(({ sequence }) => sequence === 2);
    await eventually(
      () => archivesIn(fixture).join() === [packedPictureName(second), packedArchiveName(second)].join(),
    );
    expect(readFileSync(fixture.spooled(`packed/${packedPictureName(second)}`), "utf8")).to.equal("three");
  });

  it("makes its last pack when the game has ended, an empty one for an untouched new playthrough", async () => {
    open({ spoolSeconds: 1000 });
    const run = await fixture.play();
    expect(await run.finish()).to.equal(0);
    expect(run.messages).to.deep.equal(["restored", "done"]);
    const { save, final } = fixture.manifest()!;
    expect(final).to.equal(true);
    expect(fixture.content(save!)).to.deep.equal({});
  });

  const outputs: [what: string, prepare: (path: string) => void, kept: number | undefined][] = [
    ["its end", (path) => writeFileSync(path, "x".repeat(100)), 100],
    ["no more than the maximum", (path) => writeFileSync(path, Buffer.alloc(1_000_000)), gameOutputBytes],
    ["nothing if it is a link", (path) => symlinkSync("/etc/passwd", path), undefined],
    ["nothing if it is a FIFO", (path) => void execFileSync("mkfifo", [path]), undefined],
    ["nothing if it is a directory", (path) => mkdirSync(path), undefined],
    ["nothing if there is none", () => undefined, undefined],
  ];
  for (const [what, prepare, kept] of outputs) {
    it(`keeps of the game's output ${what}`, async () => {
      open({ spoolSeconds: 1000 });
      const run = await fixture.play();
      prepare(fixture.output);
      expect(await run.finish()).to.equal(0);
      const path = fixture.spooled(spoolNames.output);
      expect(existsSync(path) ? statSync(path).size : undefined).to.equal(kept);
      expect(fixture.manifest()!.final).to.equal(true);
    });
  }

  it("keeps what a session that verifies a version has observed", async () => {
    open({ spoolSeconds: 1000 });
    const run = await fixture.play();
    writeFileSync(fixture.observations, '{"version":1}');
    expect(await run.finish()).to.equal(0);
    expect(readFileSync(fixture.spooled(spoolNames.observations), "utf8")).to.equal('{"version":1}');
  });

  it("packs the last writes before the end, and does so at SIGTERM too", async () => {
    open({ spoolSeconds: 1000 });
    const run = await fixture.play();
    fixture.game("echo last > save");
    run.process.kill("SIGTERM");
    expect(await run.exited).to.equal(0);
    expect(fixture.manifest()!.final).to.equal(true);
    expect(fixture.content(fixture.manifest()!.save!)).to.deep.equal({ save: "last\n" });
  });

  it("packs again when the game ends in the middle of a pack", async () => {
    open({ volumeMb: 128 });
    const run = await fixture.play();
    fixture.game("head -c 64M /dev/urandom > large");
    await eventually(() => archivesIn(fixture).some((name) => name.endsWith(".new")));
    fixture.game("rm large; echo last > small");
    expect(await run.finish()).to.equal(0);
    expect(fixture.manifest()).to.include({ final: true });
    expect(fixture.content(fixture.manifest()!.save!)).to.deep.equal({ small: "last\n" });
    expect(archivesIn(fixture)).to.have.length(1);
    expect(run.log()).to.deep.equal([]);
  });

  it("never packs an unchanged save again, not even at the end", async () => {
    open();
    const run = await fixture.play();
    fixture.game("echo one > a");
    const save = await fixture.packed();
    await run.finish();
    expect(fixture.manifest()).to.deep.equal({ version: 1, uid: packerUid, attempt: 1, final: true, save });
  });

  it("packs writes through a memory mapping at the end, although no modification time changed", async () => {
    open({ volumeMb: 64 });
    const run = await fixture.play();
    fixture.game("echo one > a");
    await fixture.packed();
    fixture.game(`python3 -c "
import mmap
with open('a', 'r+b') as file:
  mmap.mmap(file.fileno(), 0)[0:3] = b'two'
"`);
    await run.finish();
    expect(fixture.content(fixture.manifest()!.save!)).to.deep.equal({ a: "two\n" });
  });

  it("produces the same bytes for the same files, whatever order they were created in", async () => {
    const digests: string[] = [];
    for (const names of ["b a c", "c b a"]) {
      open({ spoolSeconds: 1000 });
      const run = await fixture.play();
      fixture.game(`for n in ${names}; do mkdir "d$n"; echo "$n" > "d$n/f"; touch -d @1000000 "d$n/f"; done`);
      await run.finish();
      digests.push(fixture.manifest()!.save!.sha256);
      if (digests.length === 1) fixture.remove();
    }
    expect(digests[0]).to.equal(digests[1]);
  });

  it("packs names of every length and script so that the strict reader accepts them", async () => {
    open({ spoolSeconds: 1000 });
    const run = await fixture.play();
    fixture.game(`python3 -c "
import os
for n in range(1, 256): open('f' * n, 'w').close()
for n in range(1, 86): open('ß€' * (n // 2) + '€' * (n % 2) + '.', 'w').close() if n * 3 < 255 else None
for n in range(90, 160): os.makedirs('d' * n + '/' + 'e' * 99); open('d' * n + '/' + 'e' * 99 + '/' + 'g' * (n - 60), 'w').close()
path = '.'
for n in range(8): path += '/' + 'h' * 120; os.mkdir(path); open(path + '/i', 'w').close()
"`);
    await run.finish();
    const { save } = fixture.manifest()!;
    expect(save!.leftOut).to.equal(undefined);
    expect(Object.keys(fixture.content(save!))).to.have.length(
      Number(execFileSync("bash", ["-c", "find . -mindepth 1 | wc -l"], { cwd: fixture.saves })),
    );
  });

  it("continues after a restart, under the next attempt and sequence", async () => {
    open();
    const first = await fixture.play();
    fixture.game("echo one > a");
    const before = await fixture.packed();
    first.process.kill("SIGKILL");
    await first.exited;
    writeFileSync(fixture.spooled("packed/save-9-1.tar.gz.new"), "half a pack");
    fixture.start();
    await eventually(() => fixture.manifest()?.attempt === 2);
    expect(fixture.manifest()!.save, "the same files are no new save").to.deep.equal(before);
    fixture.game("echo two > a");
    expect(await fixture.packed(({ sequence }) => sequence === 2)).to.include({ attempt: 2 });
    await eventually(() => archivesIn(fixture).join() === "save-2-2.tar.gz");
  });

  it("packs a save of 32 MiB that changes right after a scan", async function () {
    this.timeout(120_000);
    open({ volumeMb: 64 });
    await fixture.play();
    await eventually(() => fixture.manifest());
    writeFileSync(join(fixture.volume, "random"), randomBytes(32 * 2 ** 20));
    fixture.game("head -c 8M ../random > first");
    await fixture.packed();
    fixture.game("cp ../random first; touch first");
    await eventually(() => fixture.manifest()?.save?.unpackedBytes === 32 * 2 ** 20, {
      timeoutMs: 60_000,
      what: "the changed save to be spooled",
    });
  });

  it("keeps the last good pack while the spool is full, and packs again once it has room", async () => {
    open({ packedMb: 2 });
    const run = await fixture.play();
    fixture.game("echo one > a");
    const good = await fixture.packed();
    fixture.game("head -c 3M /dev/urandom > large");
    await eventually(() => fixture.manifest()?.refused?.reason === "SpoolFull");
    expect(fixture.manifest()!.save).to.deep.equal(good);
    expect(archivesIn(fixture)).to.deep.equal([packedArchiveName(good)]);
    expect(run.log()).to.have.length.at.most(3);
    fixture.game("truncate --size 1M large");
    const next = await fixture.packed(({ sequence }) => sequence === 2);
    expect(Object.keys(fixture.content(next))).to.deep.equal(["a", "large"]);
    expect(fixture.manifest()!.refused).to.equal(undefined);
  });

  it("keeps the last good pack while the system temporarily fails to open files", async () => {
    open();
    const run = await fixture.play();
    fixture.game("echo one > a");
    const good = await fixture.packed();
    const pid = run.process.pid!;
    // Enough for a pack, except for such a deep folder, whose parents all stay open.
    letOpenAnother(pid, 12);
    fixture.game("mkdir --parents $(seq --separator / 30); echo two > $(seq --separator / 30)/b");
    const { save, refused } = await eventually(
      () => {
        const manifest = fixture.manifest();
        return (manifest?.refused !== undefined || manifest?.save?.sequence === 2) && manifest;
      },
      { what: "the packer's word" },
    );
    expect(save, "the last good pack").to.deep.equal(good);
    expect(refused?.reason).to.equal("SaveUnreadable");
    letOpenAnother(pid, 1000);
    const next = await fixture.packed(({ sequence }) => sequence === 2);
    expect(
      Object.entries(fixture.content(next))
        .filter(([, content]) => content !== undefined)
        .map(([, content]) => content),
    ).to.deep.equal(["two\n", "one\n"]);
    expect(fixture.manifest()).to.not.have.any.keys("refused");
    expect(run.log()).to.have.length(1);
  });
});

/** Limits how many more files a packer can open. */
function letOpenAnother(pid: number, count: number): void {
  const isOpen = new Set(readdirSync(`/proc/${pid}/fd`).map(Number));
  let max = 0;
  for (let free = 0; free < count; max += 1) free += isOpen.has(max) ? 0 : 1;
  execFileSync("prlimit", ["--pid", String(pid), `--nofile=${max}:`], {
    uid: sessionUserId,
    gid: sessionUserId,
  });
}

import { systemClock } from "#runtime/scheduling/clock.ts";
import { execFileSync } from "node:child_process";
import {
  closeSync,
  constants,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { getPriority } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { pino } from "pino";
import { restorePaths } from "#packer/restore/saveDirectory.ts";
import { startPacker, type PackerProcess } from "#streamer/saves/packerProcess.ts";
import { aTarGz } from "#test/factories/tarArchive.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { createPackerFixture, packerUid, type PackerFixture } from "#test/support/fixtures/packerFixture.ts";

describe("the streamer's packer", () => {
  let fixture: PackerFixture;
  let packer: PackerProcess | undefined;

  beforeEach(() => {
    fixture = createPackerFixture();
    fixture.order();
  });

  afterEach(() => {
    packer?.close();
    packer = undefined;
    fixture.remove();
  });

  function start(
    packDeadlineMs = 20_000,
    launchSettled: Promise<unknown> = Promise.resolve(),
  ): PackerProcess {
    const environment = {
      SAVE_VOLUME: fixture.volume,
      SPOOL_DIR: fixture.spool,
      SESSION_UID: packerUid,
      NODE_COMPILE_CACHE: "",
    };
    const place = { saveVolume: fixture.volume, spool: fixture.spool, uid: packerUid };
    return (packer = startPacker({
      saves: { paths: place, environment, packDeadlineMs },
      launchSettled,
      logger: pino({ level: "silent" }),
      clock: systemClock,
      random: Math.random,
    }));
  }

  /** The only child process that runs the packer for this fixture. */
  function pid(): number | undefined {
    const children = readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, "utf8")
      .trim()
      .split(" ")
      .map(Number);
    return children.find((child) => environmentOf(child).includes(fixture.spool));
  }

  /** Empty for a process that has ended in the meantime. */
  function environmentOf(child: number): string {
    try {
      return readFileSync(`/proc/${child}/environ`, "utf8");
    } catch {
      return "";
    }
  }

  it("restores at the streamer's priority, then lowers the priority of all its threads", async () => {
    fixture.order(aTarGz([{ name: "a", body: "level 1" }]));
    const { mark } = restorePaths({ saveVolume: fixture.volume, spool: fixture.spool });
    execFileSync("mkfifo", [mark]); // The packer writes it before the saves appear, and blocks until somebody reads.
    start();
    const child = await eventually(pid);
    const priorities = () => readdirSync(`/proc/${child}/task`).map((thread) => getPriority(Number(thread)));
    await eventually(() => fixture.report(), { what: "a restore that is all but complete" });
    expect(existsSync(fixture.saves), "restored already").to.equal(false);
    for (const priority of priorities()) expect(priority, "while it restores").to.equal(getPriority());
    closeSync(openSync(mark, constants.O_RDONLY | constants.O_NONBLOCK));
    await eventually(() => existsSync(fixture.saves));
    await eventually(() => priorities().every((priority) => priority === 5));
  });

  it("starts after the launch, or at the session's end, for a new playthrough", async () => {
    const launch = Promise.withResolvers<undefined>();
    const started = start(20_000, launch.promise);
    expect(existsSync(fixture.saves), "at once").to.equal(true);
    expect(fixture.report()).to.deep.equal({ version: 1, uid: packerUid });
    expect(pid()).to.equal(undefined);
    writeFileSync(join(fixture.saves, "a"), "early");
    await started.finish();
    expect(fixture.content(fixture.manifest()!.save!)).to.deep.equal({ a: "early" });
    launch.resolve(undefined);
  });

  it("starts immediately to restore a save", async () => {
    fixture.order(aTarGz([{ name: "a", body: "level 1" }]));
    start(20_000, new Promise(() => undefined));
    await eventually(() => existsSync(fixture.saves));
    expect(readFileSync(join(fixture.saves, "a"), "utf8")).to.equal("level 1");
  });

  it("packs for the last time when asked to finish", async () => {
    const started = start();
    await eventually(() => existsSync(fixture.saves));
    writeFileSync(join(fixture.saves, "a"), "last");
    await started.finish();
    expect(fixture.manifest()).to.include({ final: true });
    expect(fixture.content(fixture.manifest()!.save!)).to.deep.equal({ a: "last" });
  });

  it("is replaced when it dies, before and during the last pack", async () => {
    const started = start();
    await eventually(() => fixture.manifest()?.attempt === 1);
    process.kill(await eventually(pid), "SIGKILL");
    await eventually(() => fixture.manifest()?.attempt === 2);
    process.kill(await eventually(pid), "SIGSTOP");
    const finished = started.finish();
    process.kill(await eventually(pid), "SIGKILL");
    await finished;
    expect(fixture.manifest()).to.include({ attempt: 3, final: true });
  });

  it("is restarted when it could not be started", async () => {
    fixture.order(aTarGz([{ name: "a", body: "level 1" }]));
    const { execPath } = process;
    process.execPath = join(fixture.volume, "no-such-program");
    try {
      start();
    } finally {
      process.execPath = execPath;
    }
    await eventually(() => existsSync(fixture.saves));
    expect(readFileSync(join(fixture.saves, "a"), "utf8")).to.equal("level 1");
  });

  it("is waited for no longer than the deadline", async () => {
    const started = start(300);
    const child = await eventually(pid);
    await eventually(() => fixture.manifest());
    process.kill(child, "SIGSTOP");
    await started.finish();
    await eventually(() => pid() === undefined);
    expect(fixture.manifest()).to.include({ final: false });
  });
});

import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { getPriority } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { pino } from "pino";
import { startPacker, type PackerProcess } from "#streamer/saves/packerProcess.ts";
import { aTarGz } from "#test/factories/tarArchive.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { createPackerStage, packerUid, type PackerStage } from "#test/support/fixtures/packerFixture.ts";

describe("the streamer's packer", () => {
  let stage: PackerStage;
  let packer: PackerProcess | undefined;

  beforeEach(() => {
    stage = createPackerStage();
    stage.order();
  });

  afterEach(() => {
    packer?.close();
    packer = undefined;
    stage.remove();
  });

  function start(packDeadlineMs = 20_000, launchSettled: Promise<unknown> = Promise.resolve()): PackerProcess {
    const environment = { SAVE_VOLUME: stage.volume, SPOOL_DIR: stage.spool, SESSION_UID: packerUid, NODE_COMPILE_CACHE: "" };
    const place = { saveVolume: stage.volume, spool: stage.spool, uid: packerUid };
    return packer = startPacker({ saves: { paths: place, environment, packDeadlineMs }, launchSettled, log: pino({ level: "silent" }), now: () => performance.now(), random: Math.random });
  }

  /** The only child that runs the packer for this stage. */
  function pid(): number | undefined {
    const children = readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, "utf8").trim().split(" ").map(Number);
    return children.find((child) => environmentOf(child).includes(stage.spool));
  }

  /** Empty for a child that has ended meanwhile. */
  function environmentOf(child: number): string {
    try {
      return readFileSync(`/proc/${child}/environ`, "utf8");
    } catch {
      return "";
    }
  }

  it("restores at full speed, then steps back with all its threads", async () => {
    start();
    const child = await eventually(pid);
    await eventually(() => existsSync(stage.saves));
    await eventually(() => readdirSync(`/proc/${child}/task`).every((thread) => getPriority(Number(thread)) > 0));
  });

  it("lets a new playthrough begin without a packer, which comes when the launch is over, or at its end", async () => {
    const launch = Promise.withResolvers<undefined>();
    const started = start(20_000, launch.promise);
    expect(existsSync(stage.saves), "at once").to.equal(true);
    expect(stage.report()).to.deep.equal({ version: 1, uid: packerUid });
    expect(pid()).to.equal(undefined);
    writeFileSync(join(stage.saves, "a"), "early");
    await started.finish();
    expect(stage.content(stage.manifest()!.save!)).to.deep.equal({ a: "early" });
    launch.resolve(undefined);
  });

  it("leaves the restore of a save to a packer that starts at once", async () => {
    stage.order(aTarGz([{ name: "a", body: "level 1" }]));
    start(20_000, new Promise(() => undefined));
    await eventually(() => existsSync(stage.saves));
    expect(readFileSync(join(stage.saves, "a"), "utf8")).to.equal("level 1");
  });

  it("packs for the last time when it is told to finish", async () => {
    const started = start();
    await eventually(() => existsSync(stage.saves));
    writeFileSync(join(stage.saves, "a"), "last");
    await started.finish();
    expect(stage.manifest()).to.include({ final: true });
    expect(stage.content(stage.manifest()!.save!)).to.deep.equal({ a: "last" });
  });

  it("is replaced when it dies, before the end and after it was told", async () => {
    const started = start();
    await eventually(() => stage.manifest()?.attempt === 1);
    process.kill(await eventually(pid), "SIGKILL");
    await eventually(() => stage.manifest()?.attempt === 2);
    process.kill(await eventually(pid), "SIGSTOP");
    const finished = started.finish();
    process.kill(await eventually(pid), "SIGKILL");
    await finished;
    expect(stage.manifest()).to.include({ attempt: 3, final: true });
  });

  it("is waited for no longer than the deadline", async () => {
    const started = start(300);
    const child = await eventually(pid);
    await eventually(() => stage.manifest());
    process.kill(child, "SIGSTOP");
    await started.finish();
    await eventually(() => pid() === undefined);
    expect(stage.manifest()).to.include({ final: false });
  });
});

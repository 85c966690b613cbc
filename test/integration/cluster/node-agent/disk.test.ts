import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { systemClock } from "#runtime/scheduling/clock.ts";
import { silentLogger } from "#runtime/logger.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { createObjectFiles } from "#node-agent/cache/objectFiles.ts";
import { createKeptFolders } from "#node-agent/disk/keptFolders.ts";
import { nodePaths } from "#node-agent/disk/nodePaths.ts";
import { holdRootLock } from "#node-agent/disk/rootLock.ts";
import { TreeRemover } from "#node-agent/disk/treeRemover.ts";

const lockModule = new URL("../../../../node-agent/src/disk/rootLock.ts", import.meta.url).href;

describe("Node agent (disk)", function () {
  this.timeout(60_000);
  let folder: string;
  let remover: TreeRemover;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "joypod-disk-"));
    remover = await aRemover();
  });

  afterEach(async () => {
    await remover.stop();
    execFileSync("rm", ["-rf", folder]);
  });

  async function aRemover(): Promise<TreeRemover> {
    const started = new TreeRemover({
      trash: join(folder, "trash"),
      clock: systemClock,
      random: Math.random,
      logger: silentLogger,
    });
    await started.start();
    return started;
  }

  const isTrashEmpty = (): Promise<unknown> =>
    eventually(() => readdirSync(join(folder, "trash")).length === 0, {
      timeoutMs: 40_000,
      what: "the trash to be empty",
    });

  it("removes folders deeper than the maximum path length", async () => {
    mkdirSync(join(folder, "deep"));
    execFileSync("bash", [
      "-c",
      'cd "$1"; n=$(printf %0200d 0); for i in $(seq 300); do mkdir $n; cd -P $n; done',
      "-",
      join(folder, "deep"),
    ]);
    await remover.remove(join(folder, "deep"));
    expect(existsSync(join(folder, "deep"))).to.equal(false);
    await isTrashEmpty();
  });

  /** Creates a folder with many, long and unusual names. */
  function makeBroad(broad: string): void {
    mkdirSync(broad, { recursive: true });
    execFileSync("python3", [
      "-c",
      `
import os, sys
for i in range(60000): os.symlink("x", os.path.join(sys.argv[1].encode(), b"%0200d" % i + bytes([255, 10])))
`,
      broad,
    ]);
  }

  it("removes folders with many, long and unusual names in little memory", async () => {
    const broad = join(folder, "broad");
    makeBroad(broad);
    const before = process.memoryUsage().rss;
    await remover.remove(broad);
    await isTrashEmpty();
    expect(process.memoryUsage().rss - before).to.be.lessThan(32 * 2 ** 20);
  });

  it("removes an unpacked game with many files in little memory, and resolves when its space is free", async () => {
    const paths = nodePaths(folder);
    const digest = "a".repeat(64);
    const files = createObjectFiles(paths, remover);
    await files.load();
    makeBroad(`${paths.object(digest)}/content`);
    const before = process.memoryUsage().rss;
    await files.remove(digest);
    expect(process.memoryUsage().rss - before).to.be.lessThan(32 * 2 ** 20);
    expect(readdirSync(join(folder, "trash"))).to.deep.equal([]);
    expect(existsSync(paths.object(digest))).to.equal(false);
  });

  it("resumes unfinished removals after a restart", async () => {
    await remover.stop();
    mkdirSync(join(folder, "trash/left/over"), { recursive: true });
    remover = await aRemover();
    await isTrashEmpty();
  });

  it("removes folders after somebody has deleted the trash", async () => {
    for (const [name, remove] of [
      ["whole", () => remover.remove(join(folder, "whole"))],
      ["emptied", () => remover.removeContents(join(folder, "emptied"), "file")],
    ] as const) {
      rmSync(join(folder, "trash"), { recursive: true });
      mkdirSync(join(folder, name));
      writeFileSync(join(folder, name, "file"), "");
      await remove();
      expect(existsSync(join(folder, name, "file")), name).to.equal(false);
      await isTrashEmpty();
    }
    rmSync(join(folder, "trash"), { recursive: true });
    await remover.remove(join(folder, "never there"));
  });

  it("sets folders aside after an admin has deleted their parent folder", async () => {
    const kept = createKeptFolders(join(folder, "kept"), remover);
    await kept.open();
    rmSync(join(folder, "kept"), { recursive: true });
    expect(await kept.count()).to.equal(0);
    mkdirSync(join(folder, "gs"));
    writeFileSync(join(folder, "gs/session.json"), "");
    expect(readdirSync(await kept.take(join(folder, "gs"), "gs", "session.json"))).to.deep.equal([
      "session.json",
    ]);
    expect(await kept.count()).to.equal(1);
  });

  it("keeps at most the 32 newest folders, and at most 4 GiB", async () => {
    const kept = createKeptFolders(join(folder, "kept"), remover);
    await kept.open();
    const take = async (name: string, bytes = 0): Promise<void> => {
      mkdirSync(join(folder, name));
      writeFileSync(join(folder, name, "file"), "");
      if (bytes > 0) execFileSync("fallocate", ["--length", String(bytes), join(folder, name, "file")]);
      else truncateSync(join(folder, name, "file"), 2 ** 40); // Sparse: takes no space
      await kept.take(join(folder, name), name, "file");
    };
    for (let index = 0; index < 34; index++) await take(`gs-${index}`);
    expect(readdirSync(join(folder, "kept"))).to.have.members(
      Array.from({ length: 32 }, (_, index) => `gs-${index + 2}`),
    );
    await take("gs-large", 3 * 2 ** 30);
    await take("gs-larger", 2 * 2 ** 30);
    expect(readdirSync(join(folder, "kept"))).to.deep.equal(["gs-larger"]);
  });

  describe("Contents of a folder set aside", () => {
    const names = ["session.json", "packed", "restore.json"];
    const take = async (onlyContents = true): Promise<string> =>
      createKeptFolders(join(folder, "kept"), remover).take(
        join(folder, "gs"),
        "gs",
        "session.json",
        onlyContents,
      );

    beforeEach(async () => {
      await createKeptFolders(join(folder, "kept"), remover).open();
      mkdirSync(join(folder, "gs"));
      for (const name of names) writeFileSync(join(folder, "gs", name), name);
    });

    /** Simulates an agent that ends before it has moved all entries. */
    function takeInPart(...moved: string[]): void {
      mkdirSync(join(folder, "kept/gs.new"));
      for (const name of moved) renameSync(join(folder, "gs", name), join(folder, "kept/gs.new", name));
    }

    function keepAnOlderOne(): void {
      mkdirSync(join(folder, "kept/gs"));
      writeFileSync(join(folder, "kept/gs/older"), "");
    }

    for (const onlyContents of [true, false]) {
      it(`are complete after an interrupted move, replacing an older folder${onlyContents ? "" : ", even if the folder is moved now"}`, async () => {
        keepAnOlderOne();
        takeInPart("packed", "restore.json");
        expect(readdirSync(await take(onlyContents))).to.have.members(names);
        expect(readdirSync(join(folder, "kept"))).to.deep.equal(["gs"]);
        expect(existsSync(join(folder, "gs"))).to.equal(onlyContents);
      });
    }

    it("are not mixed with those of another folder of the same name that was moved completely", async () => {
      takeInPart(...names);
      writeFileSync(join(folder, "gs/session.json"), "newer");
      expect(readdirSync(await take())).to.deep.equal(["session.json"]);
      expect(readdirSync(join(folder, "kept"))).to.deep.equal(["gs"]);
    });

    it("are complete if one of the folders was created again since the first attempt", async () => {
      rmSync(join(folder, "gs/packed"));
      mkdirSync(join(folder, "gs/packed/packs"), { recursive: true });
      takeInPart("packed");
      mkdirSync(join(folder, "gs/packed/others"), { recursive: true });
      const kept = await take();
      expect(readdirSync(kept))
        .to.include.members(names)
        .and.to.have.length(names.length + 1);
      expect(readdirSync(join(kept, "packed"))).to.deep.equal(["packs"]);
      expect(readdirSync(join(folder, "gs"))).to.deep.equal([]);
    });
  });

  describe("Root lock", () => {
    const holders: ChildProcess[] = [];
    const path = (): string => join(folder, "v1/lock");

    afterEach(() => {
      for (const holder of holders.splice(0)) holder.kill("SIGKILL");
    });

    /** Starts another holder of the lock, like a second agent. Resolves when it holds the lock. */
    async function anotherHolder(): Promise<ChildProcess> {
      const code = `import { holdRootLock } from ${JSON.stringify(lockModule)};
        await holdRootLock({ path: process.argv[1], onWait() {}, onLost: () => process.exit(3), signal: new AbortController().signal });
        console.log("held"); setInterval(() => {}, 1000);`;
      const holder = spawn(process.execPath, ["--input-type=module", "--eval", code, path()], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      holders.push(holder);
      await once(holder.stdout, "data");
      return holder;
    }

    function hold(signal = new AbortController().signal) {
      const told = { isWaiting: false, isHeld: false };
      const lock = holdRootLock({
        path: path(),
        onWait: () => void (told.isWaiting = true),
        onLost: () => undefined,
        signal,
      }).then((held) => {
        told.isHeld = true;
        return held;
      });
      return { told, lock };
    }

    for (const signal of ["SIGKILL", "SIGTERM"] as const) {
      it(`is acquired only after its holder ended by ${signal}, even if the holder was frozen`, async () => {
        const before = await anotherHolder();
        before.kill("SIGSTOP");
        const { told, lock } = hold();
        await eventually(() => told.isWaiting, { what: "the agent to wait" });
        expect(told.isHeld).to.equal(false);
        before.kill(signal);
        before.kill("SIGCONT");
        await (await lock).release();
      });
    }

    it("stops its holder when it is lost", async () => {
      const holder = await anotherHolder();
      const children = execFileSync("pgrep", ["--parent", String(holder.pid)], { encoding: "utf8" })
        .trim()
        .split("\n");
      const ended = once(holder, "exit");
      for (const child of children) process.kill(Number(child), "SIGKILL");
      expect((await ended)[0]).to.equal(3);
    });

    it("is no longer awaited after the agent is stopped", async () => {
      await anotherHolder();
      const stopping = new AbortController();
      const { told, lock } = hold(stopping.signal);
      await eventually(() => told.isWaiting, { what: "the agent to wait" });
      stopping.abort(new Error("no longer wanted"));
      const failure = await lock.then(
        () => undefined,
        (error: unknown) => error,
      );
      expect(failure).to.be.an("error").with.property("message", "no longer wanted");
      rmSync(path());
    });
  });
});

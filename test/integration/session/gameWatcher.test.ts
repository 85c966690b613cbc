import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { anAccount } from "#test/factories/sessionPod.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { watchGame, type GameWatcher } from "#streamer/termination/gameWatcher.ts";

const running = anAccount({ state: "running", reason: null, exitCode: null });

describe("the streamer's look at the game's account", () => {
  let folder: string;
  let path: string;
  let watcher: GameWatcher;
  let ends: number;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "joypod-account-"));
    path = join(folder, "game.json");
    ends = 0;
    watcher = watchGame(path, () => { ends++; });
  });
  afterEach(() => {
    watcher.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const hostile: [string, () => void][] = [
    ["a FIFO that nobody writes to", () => { execFileSync("mkfifo", [path]); }],
    ["a directory", () => { mkdirSync(path); }],
    ["a link to an endless device", () => { symlinkSync("/dev/zero", path); }],
    ["a link to a good account", () => {
      writeFileSync(join(folder, "other"), anAccount());
      symlinkSync(join(folder, "other"), path);
    }],
    ["a link to itself", () => { symlinkSync(path, path); }],
    ["a file of 100 MB", () => {
      writeFileSync(path, anAccount());
      truncateSync(path, 100_000_000);
    }],
    ["an account with 5 kB behind it", () => { writeFileSync(path, anAccount() + " ".repeat(5_000)); }],
    ["bytes that are no text", () => { writeFileSync(path, Buffer.from([0xff, 0xfe, 0, 1, 2, 0xc3, 0x28])); }],
    ["arrays in arrays", () => { writeFileSync(path, "[".repeat(4_000)); }],
    ["figures that cannot be", () => { writeFileSync(path, anAccount({ cpuSeconds: -1 })); }],
    ["figures without end", () => { writeFileSync(path, anAccount().replace("12.5", "1e999")); }],
    ["nothing", () => { writeFileSync(path, ""); }],
  ];
  for (const [what, leave] of hostile) {
    it(`takes ${what} for no account, at once, and goes on with the last good one`, () => {
      leave();
      const startedAt = performance.now();
      expect(watcher.readReport()).to.equal(undefined);
      expect(performance.now() - startedAt).to.be.lessThan(1_000);

      rmSync(path, { recursive: true });
      writeFileSync(path, running);
      expect(watcher.readReport()).to.include({ state: "running" });
      rmSync(path);
      leave();
      expect(watcher.readReport()).to.include({ state: "running" });
    });
  }

  it("tells the end once, of an account that came the moment before", () => {
    writeFileSync(path, running);
    watcher.readReport();
    writeFileSync(`${path}.new`, anAccount({ exitCode: 7 }));
    renameSync(`${path}.new`, path);
    expect(watcher.readReport()).to.include({ state: "ended", exitCode: 7 });
    watcher.readReport();
    expect(ends).to.equal(1);
  });

  it("sees an end by itself", async () => {
    writeFileSync(path, anAccount());
    await eventually(() => ends === 1, { what: "the end to be told" });
  });
});

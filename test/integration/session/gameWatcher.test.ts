import { execFileSync } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { aTerminationReport } from "#test/factories/sessionPod.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { watchGame, type GameWatcher } from "#streamer/termination/gameWatcher.ts";

const running = aTerminationReport({ state: "running", reason: null, exitCode: null });

describe("the streamer's watcher of the termination report", () => {
  let folder: string;
  let path: string;
  let watcher: GameWatcher;
  let ends: number;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "joypod-account-"));
    path = join(folder, "game.json");
    ends = 0;
    watcher = watchGame(path, () => {
      ends++;
    });
  });
  afterEach(() => {
    watcher.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const hostile: [string, () => void][] = [
    [
      "a FIFO that nobody writes to",
      () => {
        execFileSync("mkfifo", [path]);
      },
    ],
    [
      "a directory",
      () => {
        mkdirSync(path);
      },
    ],
    [
      "a link to an endless device",
      () => {
        symlinkSync("/dev/zero", path);
      },
    ],
    [
      "a link to a good account",
      () => {
        writeFileSync(join(folder, "other"), aTerminationReport());
        symlinkSync(join(folder, "other"), path);
      },
    ],
    [
      "a link to itself",
      () => {
        symlinkSync(path, path);
      },
    ],
    [
      "a file of 100 MB",
      () => {
        writeFileSync(path, aTerminationReport());
        truncateSync(path, 100_000_000);
      },
    ],
    [
      "an account with 5 kB behind it",
      () => {
        writeFileSync(path, aTerminationReport() + " ".repeat(5_000));
      },
    ],
    [
      "bytes that are no text",
      () => {
        writeFileSync(path, Buffer.from([0xff, 0xfe, 0, 1, 2, 0xc3, 0x28]));
      },
    ],
    [
      "arrays in arrays",
      () => {
        writeFileSync(path, "[".repeat(4_000));
      },
    ],
    [
      "figures that cannot be",
      () => {
        writeFileSync(path, aTerminationReport({ cpuSeconds: -1 }));
      },
    ],
    [
      "figures without end",
      () => {
        writeFileSync(path, aTerminationReport().replace("12.5", "1e999"));
      },
    ],
    [
      "nothing",
      () => {
        writeFileSync(path, "");
      },
    ],
  ];
  for (const [what, leave] of hostile) {
    it(`ignores ${what}, and keeps the last good report`, () => {
      leave();
      expect(watcher.readReport()).to.equal(undefined);

      rmSync(path, { recursive: true });
      writeFileSync(path, running);
      expect(watcher.readReport()).to.include({ state: "running" });
      rmSync(path);
      leave();
      expect(watcher.readReport()).to.include({ state: "running" });
    });
  }

  it("reports the end once, from a report written immediately before", () => {
    writeFileSync(path, running);
    watcher.readReport();
    writeFileSync(`${path}.new`, aTerminationReport({ exitCode: 7 }));
    renameSync(`${path}.new`, path);
    expect(watcher.readReport()).to.include({ state: "ended", exitCode: 7 });
    watcher.readReport();
    expect(ends).to.equal(1);
  });

  it("detects an end without a report", async () => {
    writeFileSync(path, aTerminationReport());
    await eventually(() => ends === 1, { what: "the end to be told" });
  });
});

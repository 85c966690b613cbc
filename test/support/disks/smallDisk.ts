import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, statfsSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { compileShutdown } from "../session/compileC.ts";

const frozenSeconds = 40;

/** What the disk is to be like. */
export interface SmallDiskOptions {
  megabytes: number;
  /** As many as ext4 finds right, unless given. */
  inodes?: number;
}

/** A real ext4 file system in an image of its own, mounted on a folder. */
export interface SmallDisk {
  /** Somebody else's files take the disk but for so many bytes. */
  fill(leftBytes?: number): void;
  /** Somebody else's files take all inodes but for so many. */
  fillInodes(left?: number): void;
  /** How many inodes `fill` takes for a disk without a byte left. */
  inodesOfFilling: number;
  /** Those files go. */
  clear(): void;
  /**
   * From now on nothing reaches the disk, not even what was written and not yet flushed; everybody gets
   * errors.
   */
  losePower(): void;
  /** Mounts the disk again, as after a start of the machine; nobody may have files open on it. */
  restart(): void;
  /** From now on whoever writes to it waits, until it is thawed; 40 seconds at most. */
  freeze(): void;
  thaw(): void;
  /** Unmounts the disk; what is on it is gone. */
  remove(): void;
}

/** Makes a disk and mounts it. Its whole space is for everybody: no blocks are kept back for root. */
export async function mountSmallDisk(
  mountPoint: string,
  { megabytes, inodes }: SmallDiskOptions,
): Promise<SmallDisk> {
  const shutdown = await compileShutdown();
  const folder = mkdtempSync(join(tmpdir(), "joypod-disk-"));
  const image = join(folder, "image");
  const others = join(mountPoint, "others");
  writeFileSync(image, "");
  truncateSync(image, megabytes * 2 ** 20);
  execFileSync("mkfs.ext4", [
    "-q",
    "-F",
    "-b",
    "4096",
    "-m",
    "0",
    ...(inodes === undefined ? [] : ["-N", String(inodes)]),
    image,
  ]);
  const mount = (): void => void execFileSync("mount", ["-o", "loop", image, mountPoint]);
  mount();
  let guard: ChildProcess | undefined;
  const thaw = (): void => {
    if (guard === undefined) return;
    guard.kill();
    guard = undefined;
    execFileSync("fsfreeze", ["--unfreeze", mountPoint]);
  };

  return {
    fill(leftBytes = 0) {
      mkdirSync(others, { recursive: true });
      // What was removed a moment ago is free only when the journal says so.
      execFileSync("sync", ["--file-system", others]);
      const path = join(others, `${process.hrtime.bigint()}`);
      const { bavail, bsize } = statfsSync(mountPoint);
      // Not quite all of it: the file's own map takes blocks as well. What is left then goes byte by byte.
      execFileSync("fallocate", [
        "--length",
        String(Math.max(bsize, bavail * bsize - Math.max(leftBytes, 2 ** 20))),
        path,
      ]);
      if (leftBytes === 0)
        execFileSync("sh", [
          "-c",
          'for n in 1 2; do cat /dev/zero >"$0.$n" 2>/dev/null; sync --file-system "$0.$n"; done',
          path,
        ]);
    },
    fillInodes(left = 0) {
      mkdirSync(others, { recursive: true });
      execFileSync("sh", [
        "-c",
        'for n in $(seq "$1"); do : >"$0/$n"; done',
        others,
        String(statfsSync(mountPoint).ffree - left),
      ]);
    },
    inodesOfFilling: 3,
    clear: () => rmSync(others, { recursive: true, force: true }),
    losePower: () => void execFileSync(shutdown, [mountPoint]),
    restart() {
      // What a killed program had started there ends a moment after it.
      execFileSync("sh", [
        "-c",
        'for n in $(seq 50); do umount "$0" 2>/dev/null && exit; sleep 0.1; done; umount "$0"',
        mountPoint,
      ]);
      mount();
    },
    freeze() {
      // Who waits for it cannot even be killed: the test that froze it may be gone.
      guard = spawn("sh", ["-c", `sleep ${frozenSeconds}; fsfreeze --unfreeze "$0"`, mountPoint], {
        detached: true,
        stdio: "ignore",
      });
      guard.unref();
      execFileSync("fsfreeze", ["--freeze", mountPoint]);
    },
    thaw,
    remove() {
      thaw();
      execFileSync("umount", ["--lazy", mountPoint]);
      rmSync(folder, { recursive: true });
      rmSync(dirname(shutdown), { recursive: true });
    },
  };
}

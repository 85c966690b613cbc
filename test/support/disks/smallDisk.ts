import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, statfsSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { compileShutdown } from "../session/compileC.ts";

const frozenSeconds = 40;

/** Options of a small disk. */
export interface SmallDiskOptions {
  megabytes: number;
  /** Default: the number that mkfs chooses. */
  inodes?: number;
}

/** An ext4 file system in an image file, mounted on a folder. */
export interface SmallDisk {
  /** Fills the disk with other files, except for `leftBytes`. */
  fill(leftBytes?: number): void;
  /** Uses all inodes for other files, except for `left`. */
  fillInodes(left?: number): void;
  /** Number of inodes that `fill` uses for a full disk. */
  inodesOfFilling: number;
  /** Removes those files. */
  clear(): void;
  /** Drops all further writes, including those not flushed yet. All accesses fail with errors. */
  losePower(): void;
  /** Mounts the disk again, as after a reboot. No process may have open files on it. */
  restart(): void;
  /** Blocks writers until the disk is thawed, at most 40 seconds. */
  freeze(): void;
  thaw(): void;
  /** Unmounts the disk and removes its contents. */
  remove(): void;
}

/** Creates and mounts a disk without blocks reserved for root. */
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
      // Removed files free their space only after a journal commit.
      execFileSync("sync", ["--file-system", others]);
      const path = join(others, `${process.hrtime.bigint()}`);
      const { bavail, bsize } = statfsSync(mountPoint);
      // Not all of it, because the file's block map also needs blocks. The rest is filled byte by byte.
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
      // Children of a killed program may end slightly later than it.
      execFileSync("sh", [
        "-c",
        'for n in $(seq 50); do umount "$0" 2>/dev/null && exit; sleep 0.1; done; umount "$0"',
        mountPoint,
      ]);
      mount();
    },
    freeze() {
      // Blocked processes cannot be killed, and the test may end without thawing the disk.
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

import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { repositoryRoot } from "../processes/programs.ts";

const run = promisify(execFile);

const tracer = ["strace", "-f", "-qq"];
/** Stops the program only at traced calls. */
const quick = ["--seccomp-bpf"];
/**
 * An absolute path, because the tracer looks up the command in the program's environment, which may have no
 * PATH.
 */
const dyingWithTracer = ["/usr/bin/setpriv", "--pdeathsig=KILL"];

/** A fault at a file system call of a program: it is killed before the call, or the call fails. */
export type DiskFault = "killed" | "EIO" | "ENOSPC";

/** Calls with which our programs change a disk. Writes into a file count once they are flushed. */
export const diskCalls = [
  "mkdir",
  "rename",
  "chown",
  "chmod",
  "fchmod",
  "fsync",
  "fdatasync",
  "utimensat",
  "unlink",
  "rmdir",
  "symlink",
  "link",
] as const;
export type DiskCall = (typeof diskCalls)[number];

/** A call, by its number among those of its kind in a thread. */
export interface DiskPoint {
  call: DiskCall;
  nth: number;
  fault: DiskFault;
}

/** Installs the tracer that injects faults. */
export async function ensureTracer(): Promise<void> {
  await run(join(repositoryRoot, "tools/ensureDebian.sh"), ["strace"], { timeout: 10 * 60_000 });
}

/**
 * Returns the command prefix that injects the fault. The program then runs all libuv calls in one thread
 * (UV_THREADPOOL_SIZE=1), so that the tracer, which counts per thread, counts them in order. The program ends
 * with the tracer.
 */
export function tracerWords({ call, nth, fault }: DiskPoint, logFile: string): string[] {
  // Signals are lost at a seccomp stop, so to be killed, a program is stopped at all its calls.
  const [options, what] = fault === "killed" ? [[], "signal=SIGKILL"] : [quick, `error=${fault}`];
  return [
    ...tracer,
    ...options,
    "-o",
    logFile,
    "-e",
    `trace=${call}`,
    "-e",
    `inject=${call}:${what}:when=${nth}`,
    ...dyingWithTracer,
    "env",
    "UV_THREADPOOL_SIZE=1",
  ];
}

/** Returns the command prefix that records the program's calls without a fault. */
export function notingWords(logFile: string): string[] {
  return [...tracer, ...quick, "-o", logFile, "-e", `trace=${diskCalls.join()}`, ...dyingWithTracer];
}

/** Returns the kinds of recorded calls. */
export function callsIn(logFile: string): DiskCall[] {
  const log = readFileSync(logFile, "utf8");
  return diskCalls.filter((call) => new RegExp(`^\\d+ +${call}\\(`, "m").test(log));
}

/** A read error at a path: the failing call, the error, and whether it occurs only once. */
export interface ReadFault {
  call: "statx" | "openat";
  error: "EIO" | "EUCLEAN" | "EBADMSG";
  isOnce: boolean;
}

/** Returns the command prefix that makes this path unreadable. */
export function unreadable(path: string, logFile: string, { call, error, isOnce }: ReadFault): string[] {
  return [
    ...tracer,
    ...quick,
    "-o",
    logFile,
    "-P",
    path,
    "-e",
    `trace=${call}`,
    "-e",
    `inject=${call}:error=${error}:when=${isOnce ? "1" : "1+"}`,
    ...dyingWithTracer,
  ];
}

/**
 * Returns true if the fault has occurred: a call before which the program was killed has no result. A kill
 * alone does not prove it, because the program may kill its children.
 */
export function hasStruck(logFile: string): boolean {
  return existsSync(logFile) && /\(INJECTED\)$|\) += \?$/m.test(readFileSync(logFile, "utf8"));
}

import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { repositoryRoot } from "../processes/programs.ts";

const run = promisify(execFile);

const tracer = ["strace", "-f", "-qq"];
/** Stops the program at traced calls alone. */
const quick = ["--seccomp-bpf"];
/** By its path: the tracer looks for it in the environment of the program, which may have no PATH. */
const dyingWithTracer = ["/usr/bin/setpriv", "--pdeathsig=KILL"];

/**
 * What may happen to one call of a program to the file system: the program is killed before it, or it fails.
 */
export type DiskFault = "killed" | "EIO" | "ENOSPC";

/**
 * Calls by which our programs change what is on a disk. What they write into a file counts when they have it
 * written through.
 */
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

/** One call, by its number among those of its kind of one thread. */
export interface DiskPoint {
  call: DiskCall;
  nth: number;
  fault: DiskFault;
}

/** Installs what injects faults into calls. */
export async function ensureTracer(): Promise<void> {
  await run(join(repositoryRoot, "tools/ensureDebian.sh"), ["strace"], { timeout: 10 * 60_000 });
}

/**
 * The words that a program is started with to meet the fault. It then lets libuv do all calls in one thread
 * (UV_THREADPOOL_SIZE=1), so that the tracer, which counts by thread, counts them in order; it dies with the
 * tracer.
 */
export function tracerWords({ call, nth, fault }: DiskPoint, logFile: string): string[] {
  // A signal gets lost at a stop of seccomp's: to be killed a program is stopped at all of its calls.
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

/** The words that a program is started with to have its calls noted, without a fault. */
export function notingWords(logFile: string): string[] {
  return [...tracer, ...quick, "-o", logFile, "-e", `trace=${diskCalls.join()}`, ...dyingWithTracer];
}

/** The kinds of calls that were noted. */
export function callsIn(logFile: string): DiskCall[] {
  const log = readFileSync(logFile, "utf8");
  return diskCalls.filter((call) => new RegExp(`^\\d+ +${call}\\(`, "m").test(log));
}

/** How a disk fails at a path: by which call of a program, how, and whether at the first one only. */
export interface ReadFault {
  call: "statx" | "openat";
  error: "EIO" | "EUCLEAN" | "EBADMSG";
  isOnce: boolean;
}

/** The words that a program is started with to be told that the disk cannot read this path. */
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
 * Whether the fault has come: who is killed before a call gets no result of it. That something was killed is
 * not enough, as the program may kill children of its own.
 */
export function hasStruck(logFile: string): boolean {
  return existsSync(logFile) && /\(INJECTED\)$|\) += \?$/m.test(readFileSync(logFile, "utf8"));
}

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  clockInStepReasons,
  rootExecutableReasons,
  rootWritableReasons,
  spaceLeftReasons,
} from "#contracts/crd/gameNodeReasons.ts";
import { limits, mebibyte } from "#contracts/limits.ts";
import type { ConditionUpdate } from "#kube/api/conditions.ts";
import { systemErrorCode } from "#runtime/errors.ts";
import type { Logger } from "#runtime/logger.ts";
import { type Clock, sleepUntilAborted } from "#runtime/scheduling/clock.ts";
import { DeadlineExceeded, withTimeout } from "#runtime/scheduling/deadline.ts";
import { readDiskSpace, shortageOf } from "../cache/space.ts";
import { describeUnwritableRoot } from "../disk/files.ts";

/** A disk that is only busy responds within this time. */
const patienceMs = 60_000;

/** Dependencies of NodeChecks. */
interface NodeChecksOptions {
  root: string;
  intervalMs: number;
  /**
   * Returns the difference between this machine's clock and the API server's. Undefined before the API server
   * has responded.
   */
  clockOffsetMs: () => number | undefined;
  /** Frees disk space that the node can spare. Returns whether there was any. */
  makeSpace: () => Promise<boolean>;
  clock: Clock;
  logger: Logger;
  /** Called when the result of a check has changed. */
  onChange: () => void;
}

/**
 * Checks periodically what only the node can check: that games can be stored, started and saved there, and
 * that its clock is right.
 */
export class NodeChecks {
  readonly #options: NodeChecksOptions;
  readonly #stopping = new AbortController();
  #ofRoot: readonly ConditionUpdate[] = [];
  /** The last results, by condition type. */
  #known = new Map<string, ConditionUpdate["status"]>();
  #running: Promise<void> | undefined;
  /**
   * The running check of the folder. An unresponsive disk blocks it, and no other starts until it has ended.
   */
  #checking: Promise<ConditionUpdate[]> | undefined;

  constructor(options: NodeChecksOptions) {
    this.#options = options;
  }

  /** Resolves after the first round of checks. Checks continue until `stop`. */
  async start(): Promise<void> {
    await this.#look();
    this.#running ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  /** Returns the results as conditions of the GameNode. */
  findings(): ConditionUpdate[] {
    return [...this.#ofRoot, clockFinding(this.#options.clockOffsetMs())];
  }

  async #run(): Promise<void> {
    while (await sleepUntilAborted(this.#options.clock, this.#options.intervalMs, this.#stopping.signal))
      await this.#look();
  }

  async #look(): Promise<void> {
    const { root, logger, onChange } = this.#options;
    try {
      this.#ofRoot = await this.#checkRoot();
    } catch (error) {
      logger.warn(
        { err: error, root },
        "The folder of games and saves could not be checked. The check is retried.",
      );
    }
    const isFirst = this.#known.size === 0;
    const changed = this.findings().filter(({ type, status }) => this.#known.get(type) !== status);
    for (const { type, status, message } of changed) {
      this.#known.set(type, status);
      if (status === "False")
        logger.warn(
          { check: type, reason: message },
          "A check of the node fails. It takes no sessions until the fault is repaired.",
        );
    }
    if (!isFirst && changed.length > 0) onChange();
  }

  /** Evicts games that can be spared before reporting a lack of space for saves. */
  async #checkRoot(): Promise<ConditionUpdate[]> {
    const { root, makeSpace } = this.#options;
    const hadSpace = this.#known.get("SpaceLeft") !== "False";
    const found = await this.#answered(root, hadSpace);
    const isShort = found.some(({ type, status }) => type === "SpaceLeft" && status === "False");
    return isShort && (await makeSpace()) ? this.#answered(root, hadSpace) : found;
  }

  async #answered(root: string, hadSpace: boolean): Promise<ConditionUpdate[]> {
    this.#checking ??= checkRoot(root, hadSpace).finally(() => (this.#checking = undefined));
    try {
      return await withTimeout(this.#checking, patienceMs, `The check of ${root}`, this.#options.clock);
    } catch (error) {
      if (!(error instanceof DeadlineExceeded)) throw error;
      return unansweredRoot(root, patienceMs);
    }
  }
}

function clockFinding(offsetMs: number | undefined): ConditionUpdate {
  const type = "ClockInStep";
  if (offsetMs === undefined)
    return {
      type,
      status: "Unknown",
      reason: clockInStepReasons.notCompared,
      message: "The API server's time is not known yet.",
    };
  const { clockToleranceSeconds: tolerance } = limits.node;
  if (Math.abs(offsetMs) <= tolerance * 1000)
    return {
      type,
      status: "True",
      reason: clockInStepReasons.inStep,
      message: "The node's clock agrees with the API server's.",
    };
  const message = `The node's clock is more than ${tolerance} s ${offsetMs > 0 ? "ahead of" : "behind"} the API server's, so the object store would refuse its requests. Run a time service on the node, such as chrony.`;
  return { type, status: "False", reason: clockInStepReasons.outOfStep, message };
}

/**
 * Name of the file that the check of the root writes. One agent at a time holds the root, so the name can be
 * fixed.
 */
const probeName = ".check";
const script = "#!/bin/sh\nexit 0\n";
const runDeadlineMs = 10_000;

/**
 * Returns the results for the folder of games and saves: whether it is writable, whether programs can be
 * executed there, and whether it has free space.
 */
async function checkRoot(root: string, hadSpace: boolean): Promise<ConditionUpdate[]> {
  const path = join(root, probeName);
  try {
    const writable = await checkWritable(root, path);
    return [
      writable,
      writable.status === "True" ? await checkExecutable(root, path) : executableNotTried,
      await checkSpace(root, hadSpace),
    ];
  } finally {
    // The file does not exist on a read-only file system.
    await rm(path, { force: true }).catch(() => undefined);
  }
}

/** Returns the results for a folder whose disk has not responded for this long. */
function unansweredRoot(root: string, ms: number): ConditionUpdate[] {
  const message = `The disk of ${root} has not responded for ${ms / 1000} s. Check the node's kernel log for disk errors, or the server of a network disk.`;
  return [
    { type: "RootWritable", status: "False", reason: rootWritableReasons.notWritable, message },
    executableNotTried,
  ];
}

async function checkWritable(root: string, path: string): Promise<ConditionUpdate> {
  try {
    await rm(path, { force: true });
    await writeFile(path, script, { mode: 0o755, flush: true });
    if ((await readFile(path, "utf8")) !== script)
      throw new Error("the data read back differs from the data written");
    return {
      type: "RootWritable",
      status: "True",
      reason: rootWritableReasons.writable,
      message: `${root} is writable.`,
    };
  } catch (error) {
    return {
      type: "RootWritable",
      status: "False",
      reason: rootWritableReasons.notWritable,
      message: describeUnwritableRoot(root, error).slice(0, 1024),
    };
  }
}

const executableNotTried: ConditionUpdate = {
  type: "RootExecutable",
  status: "Unknown",
  reason: rootExecutableReasons.notTried,
  message: "No test program could be written there.",
};

/**
 * The kernel refuses to execute a program of a noexec file system, or its interpreter to read it, with
 * EACCES. Any other result means that execution is allowed.
 */
async function checkExecutable(root: string, path: string): Promise<ConditionUpdate> {
  const code = await once(spawn(path, { stdio: "ignore", timeout: runDeadlineMs }), "exit").then(
    () => undefined,
    systemErrorCode,
  );
  if (code !== "EACCES" && code !== "EPERM")
    return {
      type: "RootExecutable",
      status: "True",
      reason: rootExecutableReasons.executable,
      message: `Programs in ${root} can be executed.`,
    };
  const message = `${root} is on a file system that is mounted noexec, so no game can start. Set gameNodes.root to a folder on another file system, or mount this one with exec and restart the node's agent.`;
  return { type: "RootExecutable", status: "False", reason: rootExecutableReasons.mountedNoexec, message };
}

async function checkSpace(root: string, hadSpace: boolean): Promise<ConditionUpdate> {
  const { minFreeBytes, enoughFreeBytes, minFreeFiles, enoughFreeFiles } = limits.node;
  const type = "SpaceLeft";
  const shortage = shortageOf(await readDiskSpace(root), !hadSpace);
  if (shortage === undefined)
    return {
      type,
      status: "True",
      reason: spaceLeftReasons.enoughSpace,
      message: `At least ${minFreeBytes / mebibyte} MiB are free for saves.`,
    };
  const remedy = "remove other files there, or lower gameNodes.cacheBudgetBytes.";
  if (shortage === "bytes") {
    const message = `Less than ${minFreeBytes / mebibyte} MiB were free at ${root}. Free at least ${enoughFreeBytes / mebibyte} MiB: ${remedy}`;
    return { type, status: "False", reason: spaceLeftReasons.tooLittleSpace, message };
  }
  const message = `Fewer than ${minFreeFiles} inodes were free at ${root}. Free at least ${enoughFreeFiles} (df --inodes): ${remedy}`;
  return { type, status: "False", reason: spaceLeftReasons.tooFewInodes, message };
}

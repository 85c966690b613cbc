import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { rootExecutableReasons, rootWritableReasons, spaceLeftReasons } from "#contracts/crd/reasons.ts";
import { limits, mebibyte } from "#contracts/limits.ts";
import type { ConditionUpdate } from "#kube/api/conditions.ts";
import { systemErrorCode } from "#runtime/errors.ts";
import { readDiskSpace, shortageOf } from "../cache/space.ts";
import { unwritableRoot } from "../disk/unwritableRoot.ts";

/** The file by which the root is tried. One agent at a time holds the root, so it may have one name. */
const probeName = ".check";
const script = "#!/bin/sh\nexit 0\n";
const runDeadlineMs = 10_000;

/**
 * Returns what was found about the folder of games and saves: whether it can be written to, whether programs
 * start there, and whether there is space.
 */
export async function checkRoot(root: string, hadSpace: boolean): Promise<ConditionUpdate[]> {
  const path = join(root, probeName);
  try {
    const writable = await checkWritable(root, path);
    return [
      writable,
      writable.status === "True" ? await checkExecutable(root, path) : executableNotTried,
      await checkSpace(root, hadSpace),
    ];
  } finally {
    // On a file system that is read-only there is none.
    await rm(path, { force: true }).catch(() => undefined);
  }
}

/** Returns what is to be said of a folder whose disk has let such a check wait for so long. */
export function unansweredRoot(root: string, ms: number): ConditionUpdate[] {
  const message = `The disk of ${root} has not answered for ${ms / 1000} s. Look for errors of it in the node's kernel log, or for its server where it is one of the network.`;
  return [
    { type: "RootWritable", status: "False", reason: rootWritableReasons.notWritable, message },
    executableNotTried,
  ];
}

async function checkWritable(root: string, path: string): Promise<ConditionUpdate> {
  try {
    await rm(path, { force: true });
    await writeFile(path, script, { mode: 0o755, flush: true });
    if ((await readFile(path, "utf8")) !== script) throw new Error("what was read is not what was written");
    return {
      type: "RootWritable",
      status: "True",
      reason: rootWritableReasons.writable,
      message: `${root} can be written to.`,
    };
  } catch (error) {
    return {
      type: "RootWritable",
      status: "False",
      reason: rootWritableReasons.notWritable,
      message: unwritableRoot(root, error).slice(0, 1024),
    };
  }
}

const executableNotTried: ConditionUpdate = {
  type: "RootExecutable",
  status: "Unknown",
  reason: rootExecutableReasons.notTried,
  message: "No program could be written there to be tried.",
};

/**
 * The kernel refuses to start a program of a noexec file system, or its interpreter to take it, with EACCES;
 * whatever else happens, it was let through.
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
      message: `Programs in ${root} can be started.`,
    };
  const message = `${root} is on a file system that is mounted noexec, so no game would start. Name a folder of another one in gameNodes.root, or mount it with exec and restart the node's agent.`;
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
      message: `${minFreeBytes / mebibyte} MiB or more are free for saves.`,
    };
  const remedy = "what is not Joypod's there, or a lower gameNodes.cacheBudgetBytes.";
  if (shortage === "bytes") {
    const message = `Less than ${minFreeBytes / mebibyte} MiB were free at ${root}. Make room until there are ${enoughFreeBytes / mebibyte} MiB: ${remedy}`;
    return { type, status: "False", reason: spaceLeftReasons.tooLittleSpace, message };
  }
  const message = `Less than ${minFreeFiles} inodes were free at ${root}. Remove files until there are ${enoughFreeFiles} (df --inodes): ${remedy}`;
  return { type, status: "False", reason: spaceLeftReasons.tooFewInodes, message };
}

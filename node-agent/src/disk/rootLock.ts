import { spawn } from "node:child_process";
import { mkdir, open } from "node:fs/promises";
import { dirname } from "node:path";

/** The right to work in the agent's root, alone. */
export interface RootLock {
  release(): Promise<void>;
}

/** Options of the lock. */
export interface RootLockOptions {
  path: string;
  /** Called when another process holds the lock, before it is waited for. */
  onWait: () => void;
  /** Called when the lock was lost: whoever holds it must not work on. */
  onLost: () => void;
  signal: AbortSignal;
}

/** Says that it waits when the lock is taken, then that it is held, and holds it until its input ends. */
const holder = "flock --nonblock 9 || { echo waiting; flock 9; }; echo held; exec cat >/dev/null";

/**
 * Waits until this process is the only one that works below the root; returns the lock. An agent that was
 * deleted by force may still run beside its successor. Node cannot lock files, so util-linux' `flock` does,
 * in a child whose input ends with this process, however that dies; while this process is only frozen, the
 * lock stays its own. Throws the signal's reason, and the system's error where the folder cannot be written
 * to.
 */
export async function holdRootLock({ path, onWait, onLost, signal }: RootLockOptions): Promise<RootLock> {
  await mkdir(dirname(path), { recursive: true, mode: 0o755 });
  // Says by a system's code what is wrong with the folder, which the child cannot.
  await (await open(path, "a")).close();
  const child = spawn("sh", ["-c", `exec 9>>"$0"; ${holder}`, path], { stdio: ["pipe", "pipe", "inherit"] });
  let isReleased = false;
  const ended = new Promise<void>((resolve) => {
    child.once("error", () => resolve());
    child.once("exit", () => resolve());
  });
  child.stdin.on("error", () => undefined); // It has ended, which `ended` tells.
  const release = async (): Promise<void> => {
    isReleased = true;
    child.stdin.end();
    await ended;
  };
  const held = new Promise<void>((resolve, reject) => {
    let said = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      said += text;
      if (said.endsWith("waiting\n")) onWait();
      if (said.endsWith("held\n")) resolve();
    });
    ended.then(
      () =>
        reject(new Error(`The lock ${path} cannot be acquired. This requires sh and flock (util-linux).`)),
      reject,
    );
    signal.addEventListener(
      "abort",
      () =>
        reject(signal.reason instanceof Error ? signal.reason : new Error("The lock is no longer needed.")),
      { once: true },
    );
  });
  try {
    await held;
  } catch (error) {
    child.kill("SIGKILL"); // It may wait, deaf to the end of its input.
    throw error;
  }
  void ended.then(() => {
    if (!isReleased) onLost();
  });
  return { release };
}

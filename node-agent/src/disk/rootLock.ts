import { spawn } from "node:child_process";
import { mkdir, open } from "node:fs/promises";
import { dirname } from "node:path";

/** The exclusive right to use the agent's root. */
export interface RootLock {
  release(): Promise<void>;
}

/** Options of the lock. */
export interface RootLockOptions {
  path: string;
  /** Called before waiting for another process that holds the lock. */
  onWait: () => void;
  /** Called when the lock is lost. The holder must stop working. */
  onLost: () => void;
  signal: AbortSignal;
}

/** Prints `waiting` if the lock is taken and `held` once it holds it, then holds it until its input ends. */
const holder = "flock --nonblock 9 || { echo waiting; flock 9; }; echo held; exec cat >/dev/null";

/**
 * Waits until this process is the only one that uses the root, and returns the lock. An agent that was
 * deleted by force may still run next to its successor. Node.js cannot lock files, so a child process runs
 * util-linux' `flock`. The child's input ends when this process dies for any reason. While this process is
 * only frozen, it keeps the lock.
 *
 * @throws the signal's reason, or the system error if the folder is not writable
 */
export async function holdRootLock({ path, onWait, onLost, signal }: RootLockOptions): Promise<RootLock> {
  await mkdir(dirname(path), { recursive: true, mode: 0o755 });
  // Reports a problem with the folder as a system error, which the child cannot.
  await (await open(path, "a")).close();
  const child = spawn("sh", ["-c", `exec 9>>"$0"; ${holder}`, path], { stdio: ["pipe", "pipe", "inherit"] });
  let isReleased = false;
  const ended = new Promise<void>((resolve) => {
    child.once("error", () => resolve());
    child.once("exit", () => resolve());
  });
  child.stdin.on("error", () => undefined); // The child has ended, which `ended` reports.
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
    child.kill("SIGKILL"); // A waiting child does not notice the end of its input.
    throw error;
  }
  void ended.then(() => {
    if (!isReleased) onLost();
  });
  return { release };
}

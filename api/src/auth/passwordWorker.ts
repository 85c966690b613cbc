import { constants, setPriority } from "node:os";
import { parentPort } from "node:worker_threads";
import bcrypt from "bcryptjs";

/** Work for a password worker: with `hash` a comparison, without one a new hash. */
export type PasswordTask = { id: number; secret: string; cost: number } | { id: number; secret: string; hash: string };

export type PasswordResult = { id: number; hash: string } | { id: number; isEqual: boolean } | { id: number; error: string };

// Of this thread alone, as Linux counts: whoever signs in can wait a little, whoever plays cannot.
setPriority(constants.priority.PRIORITY_LOW);

// The synchronous calls: this thread has nothing else to do, and no event loop to keep moving.
parentPort?.on("message", (task: PasswordTask) => {
  parentPort?.postMessage(run(task));
});

function run(task: PasswordTask): PasswordResult {
  try {
    return "hash" in task
      ? { id: task.id, isEqual: bcrypt.compareSync(task.secret, task.hash) }
      : { id: task.id, hash: bcrypt.hashSync(task.secret, task.cost) };
  } catch (error) {
    return { id: task.id, error: error instanceof Error ? error.message : String(error) };
  }
}

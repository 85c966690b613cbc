import { constants, setPriority } from "node:os";
import { parentPort } from "node:worker_threads";
import bcrypt from "bcryptjs";

/** Work for a password worker: with `hash` a comparison that takes as long as one of `likeCost`, without one a new hash. */
export type PasswordTask = { id: number; secret: string; cost: number } | { id: number; secret: string; hash: string; likeCost: number };

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
      ? { id: task.id, isEqual: compare(task.secret, task.hash, task.likeCost) }
      : { id: task.id, hash: bcrypt.hashSync(task.secret, task.cost) };
  } catch (error) {
    return { id: task.id, error: error instanceof Error ? error.message : String(error) };
  }
}

/** A cheaper hash, such as an imported one, must not be told by a quicker no: each step of cost doubles the work. */
function compare(secret: string, hash: string, likeCost: number): boolean {
  const isEqual = bcrypt.compareSync(secret, hash);
  for (let cost = Number(hash.slice(4, 6)); !isEqual && cost < likeCost; cost += 1) bcrypt.hashSync(secret, cost);
  return isEqual;
}

import { constants, setPriority } from "node:os";
import { parentPort } from "node:worker_threads";
import bcrypt from "bcryptjs";
import { messageOf } from "#runtime/errors.ts";

/**
 * A task for a password thread. With `hash`, which has the cost `cost`, it compares the password and takes as
 * long as with a hash of `likeCost`; without `hash` it creates a new hash.
 */
export type PasswordTask = { id: number; secret: string; cost: number } | (Comparison & { id: number });

interface Comparison {
  secret: string;
  hash: string;
  cost: number;
  likeCost: number;
}

/** The result of the task with that id. */
export type PasswordResult =
  | { id: number; hash: string }
  | { id: number; isEqual: boolean }
  | { id: number; error: string };

// On Linux this lowers the priority of this thread only: sign-ins can wait a little, players cannot.
setPriority(constants.priority.PRIORITY_LOW);

// The calls are synchronous because this thread has no other work.
parentPort?.on("message", (task: PasswordTask) => {
  parentPort?.postMessage(run(task));
});

function run(task: PasswordTask): PasswordResult {
  try {
    return "hash" in task
      ? { id: task.id, isEqual: compare(task) }
      : { id: task.id, hash: bcrypt.hashSync(task.secret, task.cost) };
  } catch (error) {
    return { id: task.id, error: messageOf(error) };
  }
}

/**
 * Compares in the time of `likeCost`: a quick "no" must not reveal a cheaper hash, such as an imported one.
 * Each step of cost doubles the work.
 */
function compare({ secret, hash, cost, likeCost }: Comparison): boolean {
  const isEqual = bcrypt.compareSync(secret, hash);
  for (let step = cost; !isEqual && step < likeCost; step += 1) bcrypt.hashSync(secret, step);
  return isEqual;
}

import { constants, setPriority } from "node:os";
import { parentPort } from "node:worker_threads";
import bcrypt from "bcryptjs";
import { messageOf } from "#runtime/errors.ts";

/**
 * A task for a password thread. With `hash`, whose cost is `cost`, it is a comparison that takes as long as
 * one with a hash of `likeCost`; without `hash` the thread makes a new one.
 */
export type PasswordTask = { id: number; secret: string; cost: number } | (Comparison & { id: number });

interface Comparison {
  secret: string;
  hash: string;
  cost: number;
  likeCost: number;
}

/** The result of a task, by its id. */
export type PasswordResult =
  | { id: number; hash: string }
  | { id: number; isEqual: boolean }
  | { id: number; error: string };

// The priority of this thread alone, on Linux: sign-ins can wait a little, players cannot.
setPriority(constants.priority.PRIORITY_LOW);

// The calls are synchronous: this thread has nothing else to do, and no event loop to keep free.
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

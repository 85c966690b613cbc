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

/** The result of the task with that id. A hash of cost n takes 2 to the power of n rounds. */
export type PasswordResult =
  | { id: number; hash: string; rounds: number }
  | { id: number; isEqual: boolean; rounds: number }
  | { id: number; error: string };

// On Linux this lowers the priority of this thread only: sign-ins can wait a little, players cannot.
setPriority(constants.priority.PRIORITY_LOW);

// The calls are synchronous because this thread has no other work.
parentPort?.on("message", (task: PasswordTask) => {
  parentPort?.postMessage(run(task));
});

let rounds = 0;

function run(task: PasswordTask): PasswordResult {
  rounds = 0;
  try {
    return "hash" in task
      ? { id: task.id, isEqual: compare(task), rounds }
      : { id: task.id, hash: hash(task.secret, task.cost), rounds };
  } catch (error) {
    return { id: task.id, error: messageOf(error) };
  }
}

function hash(secret: string, cost: number): string {
  rounds += 2 ** cost;
  return bcrypt.hashSync(secret, cost);
}

/**
 * Compares in the time of `likeCost`: a quick "no" must not reveal a cheaper hash, such as an imported one.
 * Each step of cost doubles the work.
 */
function compare({ secret, hash: stored, cost, likeCost }: Comparison): boolean {
  if (Number.isNaN(cost)) return false;
  rounds += 2 ** cost;
  const isEqual = bcrypt.compareSync(secret, stored);
  for (let step = cost; !isEqual && step < likeCost; step += 1) hash(secret, step);
  return isEqual;
}

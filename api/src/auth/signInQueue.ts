import { BoundedQueue, type BoundedQueueOptions } from "#runtime/scheduling/boundedQueue.ts";
import { unavailable } from "../errors.ts";

/** Bounds how many sign-ins ask the stores at once; the others wait, first come, first served. */
export class SignInQueue extends BoundedQueue {
  constructor(options: Omit<BoundedQueueOptions, "tooMany">) {
    super({ ...options, tooMany: tooManySignIns });
  }
}

/** Returns the error for a sign-in that found too many others: it may be repeated in a moment. */
export function tooManySignIns(): Error {
  return unavailable("Too many sign-ins at once: try again in a moment.", undefined, 2);
}

import { BoundedQueue } from "#runtime/boundedQueue.ts";
import { unavailable } from "../errors.ts";

/** Bounds how many whole saves a process reads at once for its players' requests; the others wait for a while. */
export class SaveReads extends BoundedQueue {
  constructor() {
    super({ concurrency: 4, waitingMax: 32, deadlineMs: 20_000, tooMany: () => unavailable("Many saves are being read just now: try again in a moment.") });
  }
}

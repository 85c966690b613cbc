import { unavailable } from "../errors.ts";
import { withTimeout } from "#runtime/deadline.ts";

/** What the object store answers; throws unavailable when it fails, or says nothing for `ms`. */
export async function storeAnswer<T>(call: Promise<T>, ms: number, what: string): Promise<T> {
  try {
    return await withTimeout(call, ms, what);
  } catch (cause) {
    throw unavailable("The archive store is not available just now: try again in a moment.", cause);
  }
}

import { unavailable } from "../errors.ts";
import { withTimeout } from "#runtime/scheduling/deadline.ts";

/**
 * Returns the object store's response to a request. Throws unavailable when it fails, or does not respond
 * within `ms`.
 */
export async function callObjectStore<T>(request: Promise<T>, ms: number, what: string): Promise<T> {
  try {
    return await withTimeout(request, ms, what);
  } catch (cause) {
    throw unavailable("The archive store is not available just now: try again in a moment.", cause);
  }
}

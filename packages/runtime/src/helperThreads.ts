import { existsSync, readdirSync, readFileSync } from "node:fs";
import { setPriority } from "node:os";

/** Linux lists threads here, and each has a priority of its own. */
const tasks = "/proc/self/task";
const lower = 10;

/**
 * Lets V8's helpers, which compile and collect, wait for the thread that serves: where processors are few,
 * one turn of theirs holds up all requests for some milliseconds. Called at the start, while no thread ends;
 * does nothing where the system is not Linux.
 */
export function lowerHelperThreads(): void {
  if (!existsSync(tasks)) return;
  for (const thread of readdirSync(tasks)) {
    if (readFileSync(`${tasks}/${thread}/comm`, "utf8").startsWith("V8Worker"))
      setPriority(Number(thread), lower);
  }
}

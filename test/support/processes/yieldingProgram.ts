import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);
/**
 * Lowers the priority of its session, because the kernel may schedule by session (autogroup), and its own
 * priority otherwise.
 */
const startLast = '{ echo 19 >/proc/self/autogroup; } 2>/dev/null; exec nice -n 19 "$@"';

/**
 * Runs a program with the lowest priority, as if it ran on another machine. Rejects if it fails, or takes
 * longer than `timeoutMs`.
 */
export async function runYielding(
  program: string,
  args: readonly string[],
  timeoutMs: number,
): Promise<void> {
  await run("setsid", ["sh", "-c", startLast, "sh", program, ...args], {
    timeout: timeoutMs,
    maxBuffer: 16 * 2 ** 20,
  });
}

import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);
/**
 * In a session of its own, as the kernel may weigh processes by their sessions; elsewhere its priority
 * counts.
 */
const startLast = '{ echo 19 >/proc/self/autogroup; } 2>/dev/null; exec nice -n 19 "$@"';

/**
 * Runs a program to its end on what of the processors nothing else wants, as if it ran on a machine of its
 * own. Rejects when it fails, or takes longer than `timeoutMs`.
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

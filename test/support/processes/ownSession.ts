import { writeFile } from "node:fs/promises";

/**
 * Weighs this process, and those of its that are in its session, against all others on the machine: -20 for
 * most of the processors that others want, too, 19 for what they leave, 0 as usual. Browsers have sessions of
 * their own. Changes nothing where the kernel does not weigh processes by their sessions, or not for this
 * user.
 */
export async function weighOwnSession(nice: number): Promise<void> {
  await writeFile("/proc/self/autogroup", String(nice)).catch(() => undefined);
}

import { writeFile } from "node:fs/promises";

/**
 * Sets the scheduling weight of this process' session against others: -20 for most of the processor time, 19
 * for what is left, 0 as usual. Browsers have separate sessions. Does nothing if the kernel does not schedule
 * by session, or not for this user.
 */
export async function weighOwnSession(nice: number): Promise<void> {
  await writeFile("/proc/self/autogroup", String(nice)).catch(() => undefined);
}

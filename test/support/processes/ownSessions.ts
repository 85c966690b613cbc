import { readdir, readFile, writeFile } from "node:fs/promises";

/** What the kernel tells of a process. */
interface Process { id: number; parent: number; session: number }

/**
 * Weighs this process and those that it started (browsers, receivers) against all others on the machine: -20 for most of the processors that others
 * want, too, 19 for what they leave, 0 as usual. Changes nothing where the kernel does not weigh processes by their sessions, or not for this user.
 */
export async function weighOwnSessions(nice: number): Promise<void> {
  const processes = await listProcesses();
  const own = new Set([process.pid]);
  // Parents come before their children, as ids ascend.
  for (const { id, parent } of processes) if (own.has(parent)) own.add(id);
  const leaders = new Map(processes.filter(({ id }) => own.has(id)).map(({ id, session }) => [session, id]));
  for (const id of leaders.values()) await writeFile(`/proc/${id}/autogroup`, String(nice)).catch(() => undefined);
}

async function listProcesses(): Promise<Process[]> {
  const ids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(Number).toSorted((a, b) => a - b);
  const found = await Promise.all(ids.map((id) => readFile(`/proc/${id}/stat`, "utf8").then((stat) => processOf(id, stat), () => undefined)));
  return found.filter((one) => one !== undefined);
}

function processOf(id: number, stat: string): Process {
  // Its name, in parentheses, may contain anything.
  const [, parent, , session] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return { id, parent: Number(parent), session: Number(session) };
}

import { readdirSync, readFileSync } from "node:fs";

/** Seconds of processor time that the parts of a stream have used. */
export interface ProcessorTimes {
  game: number;
  /** X server and compositor. */
  display: number;
  /** Capture and encoder. */
  stream: number;
}

/** The kernel's unit for processor times in /proc (USER_HZ), the same on all machines. */
const ticksPerSecond = 100;

const parts: Readonly<Record<string, keyof ProcessorTimes>> = {
  displayprobe: "game",
  cage: "display",
  Xwayland: "display",
  Xvfb: "display",
};

/** Returns the processor times of this process's descendants. `media` is the process that encodes. */
export function processorTimes(media: number | undefined): ProcessorTimes {
  const processes = readProcesses();
  const times = { game: 0, display: 0, stream: 0 };
  for (const [pid, { name, seconds }] of processes) {
    const part = pid === media ? "stream" : parts[name];
    if (part !== undefined && isDescendant(pid, processes)) times[part] += seconds;
  }
  return times;
}

interface Process {
  name: string;
  parent: number;
  seconds: number;
}

function readProcesses(): Map<number, Process> {
  const found = new Map<number, Process>();
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    const stat = readStat(pid);
    // The name is in parentheses, and may contain any character.
    const [, name = "", rest = ""] = /^\d+ \((.*)\) \S (.*)$/s.exec(stat) ?? [];
    const fields = rest.split(" ").map(Number);
    const [parent = 0, user = 0, kernel = 0] = [fields[0], fields[10], fields[11]];
    found.set(Number(pid), { name, parent, seconds: (user + kernel) / ticksPerSecond });
  }
  return found;
}

function readStat(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, "latin1");
  } catch {
    return ""; // It has ended.
  }
}

function isDescendant(pid: number, processes: ReadonlyMap<number, Process>): boolean {
  for (let at = processes.get(pid); at; at = processes.get(at.parent)) {
    if (at.parent === process.pid) return true;
  }
  return false;
}

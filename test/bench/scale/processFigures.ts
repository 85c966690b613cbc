import { readdirSync, readFileSync } from "node:fs";

/** Returns the processor time of all threads of the process, in milliseconds. */
export function cpuMsOf(pid: number): number {
  const tasks = `/proc/${pid}/task`;
  const nanoseconds = readdirSync(tasks).map((task) =>
    Number(readFileSync(`${tasks}/${task}/schedstat`, "utf8").split(" ", 1)[0]),
  );
  return nanoseconds.reduce((sum, value) => sum + value, 0) / 1e6;
}

/** Returns the resident memory of the process in bytes, as reported by the kernel. */
export function rssBytesOf(pid: number): number {
  const kilobytes = /^VmRSS:\s*(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  if (kilobytes === undefined) throw new Error(`The kernel does not tell the memory of process ${pid}.`);
  return Number(kilobytes) * 1024;
}

/** Returns the number of files, sockets and pipes that the process has open. */
export function descriptorsOf(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

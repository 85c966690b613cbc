import { readdirSync, readFileSync } from "node:fs";

/** Processor time that all threads of the process have used, in milliseconds. */
export function cpuMsOf(pid: number): number {
  const tasks = `/proc/${pid}/task`;
  const nanoseconds = readdirSync(tasks).map((task) =>
    Number(readFileSync(`${tasks}/${task}/schedstat`, "utf8").split(" ", 1)[0]),
  );
  return nanoseconds.reduce((sum, value) => sum + value, 0) / 1e6;
}

/** Memory of the process that is in use now, in bytes, as the kernel counts it. */
export function rssBytesOf(pid: number): number {
  const kilobytes = /^VmRSS:\s*(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  if (kilobytes === undefined) throw new Error(`The kernel does not tell the memory of process ${pid}.`);
  return Number(kilobytes) * 1024;
}

/** Files, sockets and pipes that the process has open. */
export function descriptorsOf(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

import { readFileSync, closeSync, constants, ftruncateSync, openSync, writeSync } from "node:fs";
import type { StreamerTermination } from "#contracts/termination.ts";
import type { Logger } from "#runtime/logger.ts";

const mount = "/sys/fs/cgroup";

/** Processor time and peak memory of a container. */
interface Usage {
  cpuSeconds: number;
  peakMemoryBytes: number;
}

/**
 * Returns a function that reads this container's usage from cgroup version 1 or 2. Values that the kernel
 * does not provide are 0.
 */
export function createUsageReader(read: (path: string) => string | undefined = readIfExists): () => Usage {
  let largestSample = 0;
  return () => {
    if (read(`${mount}/cgroup.controllers`) === undefined) return readVersion1(read);
    const usage = readVersion2(read);
    largestSample = Math.max(largestSample, usage.current);
    // Kernels before 5.19 record no peak, so the largest sample is used.
    return { cpuSeconds: usage.cpuSeconds, peakMemoryBytes: usage.peak || largestSample };
  };
}

type Read = (path: string) => string | undefined;

function readVersion2(read: Read): { cpuSeconds: number; peak: number; current: number } {
  const file = (name: string) =>
    read(`${mount}${findCgroupPath(read, "")}/${name}`) ?? read(`${mount}/${name}`);
  const [, microseconds] = /^usage_usec (\d+)/m.exec(file("cpu.stat") ?? "") ?? [];
  return {
    cpuSeconds: toNumber(microseconds) / 1e6,
    peak: toNumber(file("memory.peak")),
    current: toNumber(file("memory.current")),
  };
}

function readVersion1(read: Read): Usage {
  const file = (controller: string, name: string) => {
    const own = findCgroupPath(read, controller);
    const folders = [`${controller}${own}`, `cpu,${controller}${own}`, controller, `cpu,${controller}`];
    for (const folder of folders) {
      const text = read(`${mount}/${folder}/${name}`);
      if (text !== undefined) return text;
    }
    return undefined;
  };
  return {
    cpuSeconds: toNumber(file("cpuacct", "cpuacct.usage")) / 1e9,
    peakMemoryBytes: toNumber(file("memory", "memory.max_usage_in_bytes")),
  };
}

/**
 * Returns this process's path below the controller's mount. With a private cgroup namespace that is the root,
 * which has the files.
 */
function findCgroupPath(read: Read, controller: string): string {
  for (const line of (read("/proc/self/cgroup") ?? "").split("\n")) {
    const [, names, path] = line.split(":");
    if (path !== undefined && names?.split(",").includes(controller)) return path === "/" ? "" : path;
  }
  return "";
}

function toNumber(text: string | undefined): number {
  const value = Number(text?.trim() ?? 0);
  return Number.isFinite(value) ? value : 0;
}

function readIfExists(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined; // Another cgroup version or layout.
  }
}

/** Returns a function that writes a report to the container's termination message file and logs failures. */
export function createTerminationLog(path: string, logger: Logger): (report: StreamerTermination) => void {
  return (report) => {
    try {
      const text = Buffer.from(JSON.stringify(report));
      const file = openSync(path, constants.O_WRONLY | constants.O_CREAT, 0o644);
      try {
        // Overwrite first, truncate afterwards: a container killed in between still leaves a report.
        writeSync(file, text, 0, text.length, 0);
        ftruncateSync(file, text.length);
      } finally {
        closeSync(file);
      }
    } catch (error) {
      logger.warn({ err: error, path }, "The termination message could not be written.");
    }
  };
}

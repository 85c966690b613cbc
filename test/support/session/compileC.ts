import { execFile } from "node:child_process";
import { chmod, readdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { temporaryFolder } from "../processes/temporaryFolder.ts";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../../..", import.meta.url));
const supervisorFolder = join(root, "session/supervisor");
const strict = ["-O2", "-Wall", "-Wextra", "-Werror"];
const install =
  "Install the Debian packages gcc, libc6-dev and libseccomp-dev: the tests compile programs with them.";

/** Compiles the supervisor as in its image. Returns the path of the program, which any user may run. */
export async function compileSupervisor(): Promise<string> {
  const sources = (await readdir(supervisorFolder))
    .filter((name) => name.endsWith(".c"))
    .map((name) => join(supervisorFolder, name));
  return compile("supervise", ["-static", ...sources, "-lseccomp"]);
}

/** Compiles the program that prints the supervisor's filter. */
export function compileFilterExport(): Promise<string> {
  const sources = [
    join(root, "test/support/session/exportFilter.c"),
    join(supervisorFolder, "systemCallFilter.c"),
  ];
  return compile("exportFilter", ["-static", "-I", supervisorFolder, ...sources, "-lseccomp"]);
}

/** Compiles the program that simulates a power loss of a file system. */
export function compileShutdown(): Promise<string> {
  return compile("shutdown", ["-static", join(root, "test/support/disks/shutdown.c")]);
}

/** Compiles a program of one source file in this folder. */
export function compileProbe(name: string): Promise<string> {
  return compile(name, ["-static", join(root, "test/support/session", `${name}.c`)]);
}

async function compile(name: string, args: string[]): Promise<string> {
  const folder = temporaryFolder("compiled");
  await chmod(folder, 0o755);
  const program = join(folder, name);
  try {
    await run("gcc", [...strict, "-o", program, ...args]);
  } catch (error) {
    throw new Error(`${name} could not be compiled. ${install}`, { cause: error });
  }
  return program;
}

import { execFile } from "node:child_process";
import { chmod, readdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { temporaryFolder } from "../processes/temporaryFolder.ts";

const run = promisify(execFile);
let shim: Promise<string> | undefined;
const root = fileURLToPath(new URL("../../..", import.meta.url));
const shimFolder = join(root, "session/shim");
const supervisorFolder = join(root, "session/supervisor");
const strict = ["-O2", "-Wall", "-Wextra", "-Werror"];
const install =
  "Install the Debian packages that tools/test/prerequisites.sh names: the tests compile programs with them.";

/** Compiles the supervisor as in its image. Returns the path of the program, which any user may run. */
export async function compileSupervisor(): Promise<string> {
  return compile("supervise", ["-static", ...(await sourcesIn(supervisorFolder)), "-lseccomp"]);
}

/** Compiles the shim as in its image, once for all tests. Returns its path, for `LD_PRELOAD`. */
export function compileShim(): Promise<string> {
  return (shim ??= buildShim());
}

async function buildShim(): Promise<string> {
  return compile("shim.so", ["-fPIC", "-shared", "-fvisibility=hidden", ...(await sourcesIn(shimFolder))]);
}

/** Compiles libudev as in the game image. Returns its path; programs get its folder in `LD_LIBRARY_PATH`. */
export async function compileUdev(): Promise<string> {
  const sources = (await sourcesIn(shimFolder)).filter((path) => /\/(udev\w+|padPaths)\.c$/.test(path));
  return compile("libudev.so.1", [
    "-fPIC",
    "-shared",
    "-fvisibility=hidden",
    "-Wl,-soname,libudev.so.1",
    `-Wl,--version-script=${join(shimFolder, "libudev.map")}`,
    ...sources,
  ]);
}

/** Compiles the program that prints gamepads as engines give them to games. */
export function compileEnginePads(): Promise<string> {
  return compile("enginePads", [join(root, "test/support/session/enginePads.c"), "-lSDL2", "-lglfw"]);
}

/** Compiles the hostile game, linked dynamically like most games. */
export async function compileHostile(): Promise<string> {
  return compile("hostile", await sourcesIn(join(root, "games/hostile")));
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
export function compileProbe(name: string, linking: "static" | "dynamic" = "static"): Promise<string> {
  const options = linking === "static" ? ["-static"] : [];
  return compile(name, [...options, join(root, "test/support/session", `${name}.c`)]);
}

async function sourcesIn(folder: string): Promise<string[]> {
  return (await readdir(folder)).filter((name) => name.endsWith(".c")).map((name) => join(folder, name));
}

/** Compiles the program that reads input as engines do. */
export function compileInputReader(): Promise<string> {
  const source = join(root, "test/support/session/engines/inputReader.c");
  return compile("inputReader", [source, "-lSDL2", "-lglfw", "-lX11", "-lXi"]);
}

/** Compiles the game that tests of verifications play. */
export function compileVerifiedGame(): Promise<string> {
  return compile("verifiedGame", [join(root, "test/support/session/verifiedGame.c"), "-lX11"]);
}

/** Compiles a program that needs a library which exists only while it is linked. */
export async function compileWithoutLibrary(): Promise<string> {
  const source = join(temporaryFolder("library"), "empty.c");
  await writeFile(source, "int main(void) { return 0; }\n");
  const library = await compile("libjoypodmissing.so", ["-shared", "-fPIC", source]);
  return compile("needy", [source, "-Wl,--no-as-needed", `-L${dirname(library)}`, "-ljoypodmissing"]);
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

import { execFile } from "node:child_process";
import { tmpdir } from "node:os";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { z } from "zod";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../../..", import.meta.url));
const buildDeadlineMs = 30 * 60_000;
/** Timeout for hooks that may build images and games from scratch. */
export const imageBuildMs = 2 * buildDeadlineMs;
const commandDeadlineMs = 60_000;
const maxOutputBytes = 16 * 1024 * 1024;

/** The container engine of this machine and the images of a session pod. */
export interface SessionImages {
  game: string;
  streamer: string;
  /** The engine's name, as the image build scripts expect it. */
  engineName: string;
  /** Runs the engine with these arguments and returns its standard output. */
  engine: (...args: string[]) => Promise<string>;
}

let prepared: Promise<SessionImages> | undefined;

/** Builds the session images if their sources changed, once for all tests. */
export function prepareSessionImages(): Promise<SessionImages> {
  return (prepared ??= prepare());
}

/**
 * Finds the machine's container engine. Returns its name and a function that runs it with arguments and
 * returns its standard output.
 */
export async function containerEngine(): Promise<{ name: string; run: SessionImages["engine"] }> {
  // Name and settings come from the script that builds the images.
  const { stdout: printed } = await runShell(
    '. tools/lib.sh; . tools/containers.sh; useEngine "${JOYPOD_ENGINE:-}"; printf "%s\\n%s\\n" "$containerEngine" "${CONTAINERS_CONF:-}"',
  );
  const [name = "", configuration = ""] = printed.trim().split("\n");
  const env = {
    ...process.env,
    ...(configuration && { CONTAINERS_CONF: configuration, STORAGE_DRIVER: "overlay" }),
  };
  // podman's monitor leaves a file called oom in its working directory.
  const options = { cwd: tmpdir(), env, timeout: commandDeadlineMs, maxBuffer: maxOutputBytes };
  return { name, run: async (...args) => (await run(name, args, options)).stdout.trim() };
}

async function prepare(): Promise<SessionImages> {
  const { name, run: engine } = await containerEngine();
  const { stdout: built } = await runShell(`JOYPOD_ENGINE=${name} tools/images/build.sh game streamer`);
  const reference = (image: string) =>
    z
      .string({ error: `tools/images/build.sh did not name the image ${image}` })
      .parse(new RegExp(`^  ${image}: (\\S+)$`, "m").exec(built)?.[1]);
  return {
    game: reference("game"),
    streamer: reference("streamer"),
    engineName: name,
    engine,
  };
}

/**
 * Kills and removes a container and those that share its namespaces with a single call. podman refuses to
 * remove a container that another depends on, but accepts several at once. docker has neither that
 * restriction nor a grace period before it kills.
 */
export async function removeContainer(
  { engineName, engine }: SessionImages,
  name: string,
  dependents: readonly string[] = [],
): Promise<void> {
  await engine(
    "rm",
    "--force",
    ...(engineName === "podman" ? ["--depend", "--time", "0", name] : [...dependents, name]),
  );
}

const builtGames = new Map<string, Promise<string>>();

/**
 * Builds a demo game's archive if it is missing, and returns its path. Checks only once for all tests,
 * because the check starts a container.
 */
export function buildGame(game: string, image: string): Promise<string> {
  const key = `${image} ${game}`;
  const known = builtGames.get(key);
  if (known !== undefined) return known;
  const building = build(game, image);
  builtGames.set(key, building);
  building.catch(() => builtGames.delete(key));
  return building;
}

async function build(game: string, image: string): Promise<string> {
  const { stdout } = await runShell(`JOYPOD_GAME_IMAGE=${image} games/build.sh ${game}`);
  return stdout.trim();
}

/** Runs a shell script in the repository root. */
export function runShell(script: string): Promise<{ stdout: string; stderr: string }> {
  return run("bash", ["-euo", "pipefail", "-c", script], {
    cwd: root,
    timeout: buildDeadlineMs,
    maxBuffer: maxOutputBytes,
  });
}

import { execFile } from "node:child_process";
import { tmpdir } from "node:os";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { z } from "zod";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../../..", import.meta.url));
const buildDeadlineMs = 30 * 60_000;
/** For hooks that may build images and games from nothing. */
export const imageBuildMs = 2 * buildDeadlineMs;
const commandDeadlineMs = 60_000;
const maxOutputBytes = 16 * 1024 * 1024;

/** The container engine of this machine and the images of a session's pod. */
export interface SessionImages {
  game: string;
  streamer: string;
  /** The engine's name, as the scripts that build images take it. */
  engineName: string;
  /** Runs the engine with these arguments and returns its standard output. */
  engine: (...args: string[]) => Promise<string>;
}

let prepared: Promise<SessionImages> | undefined;

/** Builds the session images when their sources changed, once for all tests. */
export function prepareSessionImages(): Promise<SessionImages> {
  return (prepared ??= prepare());
}

/**
 * Finds the machine's container engine: its name, and how it is run with these arguments, which returns its
 * standard output.
 */
export async function containerEngine(): Promise<{ name: string; run: SessionImages["engine"] }> {
  // The engine's name and its settings come from the same script that builds the images.
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
 * Kills a container and those that share its namespaces, and removes them, by one call of the engine. podman
 * refuses to remove a container on which another one depends, and takes several that are named to it at once;
 * docker knows no such dependence, and no time to wait before it kills.
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
 * Makes a demo game's archive when it is not there, and returns its path. Whether it is there is asked once
 * for all tests, since that starts a container.
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

/** Runs a script of the shell in the repository's root. */
export function runShell(script: string): Promise<{ stdout: string; stderr: string }> {
  return run("bash", ["-euo", "pipefail", "-c", script], {
    cwd: root,
    timeout: buildDeadlineMs,
    maxBuffer: maxOutputBytes,
  });
}

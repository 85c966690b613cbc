import { execFile } from "node:child_process";
import { chmod, chown, copyFile, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { podPaths } from "#contracts/nodeLayout.ts";
import { StreamerStatus } from "#contracts/stream.ts";
import {
  parseGameTermination,
  parseStreamerTermination,
  type GameTermination,
  type StreamerTermination,
} from "#contracts/termination.ts";
import { readConfig } from "#operator/config.ts";
import { gameEnvironment, softwareRendering } from "#operator/controllers/gameSession/pod.ts";
import { freePort, freeUdpPort } from "../processes/childProgram.ts";
import { eventually } from "../clocks/eventually.ts";
import { removeContainer, type SessionImages } from "./containers.ts";
import { bearing, TestTickets } from "./tickets.ts";
import { temporaryFolder } from "../processes/temporaryFolder.ts";

const run = promisify(execFile);
/** User and group of both containers. */
const player = 10_001;
const { game: memory } = readConfig({ STREAMER_IMAGE: "streamer", GAME_IMAGE: "game" }).sessionPod;
let nextDisplay = 0;

/** For `streamerEnv` of tests that do not measure the frame rate: halves the processor time. */
export const lightStream = { FPS: "30" } as const;

export interface SessionPairOptions {
  images: SessionImages;
  /** Archive of the game, or the text of a launcher script and programs to copy beside it. */
  game: { archive: string; launcher: string } | { script: string; programs?: readonly string[] };
  /** Save directory of an earlier pair to continue with. */
  saves?: string;
  gameMemory?: string;
  streamerEnv?: Record<string, string>;
  gameEnv?: Record<string, string>;
  /**
   * Files of the streamer image that are replaced with files of this machine, such as a broken driver's;
   * /dev/null replaces with an empty file.
   */
  replacedFiles?: Readonly<Record<string, string>>;
  /** Network namespace of the streamer and its address there. Defaults to the machine's. */
  network?: { namespace: string; address: string; udpPort: number };
  /** When false, the streamer may still be starting. */
  isReady?: false;
}

/** The two containers of a session pod, run as in the pod but without a cluster. */
export interface SessionPair {
  signalUrl: string;
  /** Signs tickets that the streamer accepts, unless `streamerEnv` sets other keys. */
  tickets: TestTickets;
  /** Media port on this machine. */
  udpPort: number;
  saves: string;
  status(): Promise<StreamerStatus>;
  metrics(): Promise<string>;
  /** The game's termination report, as written by its supervisor. */
  gameMessage(): Promise<GameTermination | undefined>;
  streamerMessage(): Promise<StreamerTermination | undefined>;
  /** Runs a program in the streamer container. */
  inStreamer(...command: string[]): Promise<string>;
  gameLogs(): Promise<string>;
  streamerLogs(): Promise<string>;
  /** Sends a signal to a container's PID 1. */
  signalGame(signal: string): Promise<void>;
  signalStreamer(signal: string): Promise<void>;
  /**
   * Pauses or resumes the streamer process directly, because its container's PID 1 does not forward these
   * signals.
   */
  freezeStreamer(isFrozen: boolean): Promise<void>;
  /** Waits for a container's end and returns its exit code. */
  gameExit(): Promise<number>;
  streamerExit(): Promise<number>;
  remove(): Promise<void>;
}

/** Starts streamer and game together, like the kubelet, and waits until the streamer is ready. */
export async function startSessionPair(options: SessionPairOptions): Promise<SessionPair> {
  const {
    images: { engine },
  } = options;
  const folder = await layOut(options);
  const [signalPort, udpPort] = [await freePort(), options.network?.udpPort ?? (await freeUdpPort())];
  const display = `:${1000 + (process.pid % 5000) * 10 + (nextDisplay++ % 10)}`;
  const tickets = new TestTickets(options.streamerEnv?.SESSION_ID ?? "gs-test");
  const names = { streamer: `joypod-test-streamer-${signalPort}`, game: `joypod-test-game-${signalPort}` };
  await engine(
    "run",
    "--detach",
    "--name",
    names.streamer,
    ...restrictions,
    ...networkOf(options),
    "--tmpfs",
    "/tmp:mode=1777",
    "--volume",
    `${folder}/x11:/tmp/.X11-unix`,
    "--volume",
    `${folder}/run:/run/session`,
    "--volume",
    `${folder}/report:/run/game:ro`,
    ...Object.entries(options.replacedFiles ?? {}).flatMap(([file, found]) => [
      "--volume",
      `${found}:${file}:ro`,
    ]),
    "--volume",
    `${folder}/streamer-message:/dev/termination-log`,
    ...environment({
      DISPLAY: display,
      SIGNAL_PORT: String(signalPort),
      UDP_PORT: String(udpPort),
      ANNOUNCE_ADDRESS: "127.0.0.1",
      ...tickets.environment,
      ...options.streamerEnv,
    }),
    options.images.streamer,
  );
  await engine(
    "run",
    "--detach",
    "--name",
    names.game,
    ...restrictions,
    ...networkOf({}),
    "--ipc",
    `container:${names.streamer}`,
    ...(options.gameMemory ? ["--memory", options.gameMemory] : []),
    ...[
      `/tmp:mode=1777,size=${memory.tmpBytes}`,
      `/dev/shm:mode=1777,size=${memory.sharedMemoryBytes}`,
    ].flatMap((mount) => ["--tmpfs", mount]),
    "--volume",
    `${folder}/x11:/tmp/.X11-unix:ro`,
    "--volume",
    `${folder}/run:/run/session:ro`,
    "--volume",
    `${folder}/report:/run/game`,
    "--volume",
    `${folder}/game:/game:ro`,
    "--volume",
    `${options.saves ?? `${folder}/saves`}:${podPaths.saves}`,
    ...environment({ ...gameEnvironment, ...softwareRendering, DISPLAY: display, ...options.gameEnv }),
    options.images.game,
    `/game/${"archive" in options.game ? options.game.launcher : "game.sh"}`,
  );

  const signalUrl = `http://${options.network?.address ?? "127.0.0.1"}:${signalPort}`;
  const message = (file: string) => readFile(join(folder, file), "utf8");
  // podman polls every 250 ms by default; docker does not poll and has no such option.
  const polling = options.images.engineName === "podman" ? ["--interval", "50ms"] : [];
  const exitOf = async (name: string) => Number(await engine("wait", ...polling, name));
  const asOperator = (path: string) => fetch(signalUrl + path, { headers: bearing(tickets.operator()) });
  const pair: SessionPair = {
    signalUrl,
    tickets,
    udpPort,
    saves: options.saves ?? `${folder}/saves`,
    status: async () => StreamerStatus.parse(await (await asOperator("/status")).json()),
    metrics: async () => (await asOperator("/metrics")).text(),
    gameMessage: async () => parseGameTermination(await message("report/game.json").catch(() => "")),
    streamerMessage: async () => parseStreamerTermination(await message("streamer-message")),
    inStreamer: (...command) => engine("exec", names.streamer, ...command),
    gameLogs: () => engine("logs", names.game),
    streamerLogs: () => engine("logs", names.streamer),
    signalGame: async (signal) => {
      await engine("kill", "--signal", signal, names.game);
    },
    signalStreamer: async (signal) => {
      await engine("kill", "--signal", signal, names.streamer);
    },
    freezeStreamer: async (isFrozen) => {
      const init = await engine("inspect", "--format", "{{.State.Pid}}", names.streamer);
      const [streamer = ""] = (await readFile(`/proc/${init}/task/${init}/children`, "utf8")).split(" ");
      process.kill(Number(streamer), isFrozen ? "SIGSTOP" : "SIGCONT");
    },
    gameExit: () => exitOf(names.game),
    streamerExit: () => exitOf(names.streamer),
    async remove() {
      // the game shares the streamer's ipc
      await removeContainer(options.images, names.streamer, [names.game]);
      if (!options.saves) await rm(folder, { recursive: true, force: true });
    },
  };
  if (options.isReady === false) return pair;
  try {
    await eventually(async () => (await fetch(`${signalUrl}/readyz`)).ok, {
      timeoutMs: 30_000,
      what: "a ready streamer",
    });
  } catch (error) {
    const logs = await pair.streamerLogs();
    await pair.remove();
    throw new Error(`The streamer did not become ready:\n${logs}`, { cause: error });
  }
  return pair;
}

/** A streamer container without a game. */
export interface StreamerContainer {
  /** Sends a signal to the container's PID 1. */
  signal(signal: string): Promise<void>;
  hasExited(): Promise<boolean>;
  log(): Promise<string>;
  remove(): Promise<void>;
}

/** Starts a streamer without a game and returns as soon as its process exists. */
export async function startStreamer(images: SessionImages): Promise<StreamerContainer> {
  const { engine, streamer } = images;
  const [signalPort, udpPort] = [await freePort(), await freeUdpPort()];
  const name = `joypod-test-streamer-${udpPort}`;
  await engine(
    "run",
    "--detach",
    "--name",
    name,
    ...restrictions,
    ...networkOf({}),
    ...["/tmp", "/tmp/.X11-unix", "/run/session", "/run/game"].flatMap((path) => [
      "--tmpfs",
      `${path}:mode=1777`,
    ]),
    ...environment({
      DISPLAY: ":999",
      SIGNAL_PORT: String(signalPort),
      UDP_PORT: String(udpPort),
      ANNOUNCE_ADDRESS: "127.0.0.1",
      TERMINATION_LOG: "/tmp/termination",
      ...new TestTickets("gs-test").environment,
    }),
    streamer,
  );
  return {
    signal: async (signal) => {
      await engine("kill", "--signal", signal, name);
    },
    hasExited: async () => (await engine("inspect", "--format", "{{.State.Status}}", name)) === "exited",
    log: () => engine("logs", name),
    remove: () => removeContainer(images, name),
  };
}

/**
 * As restricted as the pod: no root, no capabilities, nothing writable except mounts. The network defaults to
 * the machine's.
 */
const restrictions = [
  "--user",
  `${player}:${player}`,
  "--read-only",
  "--cap-drop",
  "ALL",
  "--security-opt",
  "no-new-privileges",
];

function networkOf({ network }: Pick<SessionPairOptions, "network">): string[] {
  return ["--network", network === undefined ? "host" : `ns:/run/netns/${network.namespace}`];
}

function environment(variables: Record<string, string>): string[] {
  return Object.entries(variables).flatMap(([name, value]) => ["--env", `${name}=${value}`]);
}

async function layOut({ game }: SessionPairOptions): Promise<string> {
  const folder = temporaryFolder("session");
  await chmod(folder, 0o755);
  for (const name of ["x11", "run", "report", "saves", "game"]) await mkdir(join(folder, name));
  for (const shared of ["x11", "run"]) await chmod(join(folder, shared), 0o1777);
  for (const own of ["report", "saves"]) await chown(join(folder, own), player, player);
  if ("archive" in game) {
    await run("tar", ["xzf", game.archive, "-C", join(folder, "game")]);
  } else {
    await writeFile(join(folder, "game", "game.sh"), game.script, { mode: 0o755 });
    for (const program of game.programs ?? [])
      await copyFile(program, join(folder, "game", basename(program)));
  }
  await run("install", ["-m", "666", "/dev/null", join(folder, "streamer-message")]);
  return folder;
}

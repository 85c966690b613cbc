import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, constants, openSync } from "node:fs";
import { chown, mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer, Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sessionUserId } from "#contracts/nodeLayout.ts";
import { parseGameTermination, type GameTermination } from "#contracts/termination.ts";

/**
 * A game under the supervisor, outside containers, so that no restriction of a runtime hides a missing one.
 */
export interface SupervisedGame {
  pid: number;
  /** The directory in which the supervisor looks for the streamer's sockets. */
  runDirectory: string;
  /** Path of the termination report; the game may write there too. */
  reports: string;
  /** Log output so far. */
  output: () => string;
  account: () => Promise<GameTermination | undefined>;
  signal: (signal: NodeJS.Signals) => void;
  /** Waits for the supervisor's end; undefined if a signal ended it. */
  exit: () => Promise<number | undefined>;
  remove(): Promise<void>;
}

let nextDisplay = 0;

/**
 * Starts the compiled supervisor with this launcher. The sockets that it waits for already exist: those of
 * `display`, or ones that answer nothing.
 */
export async function superviseGame(
  supervisor: string,
  launcher: string[],
  environment: Record<string, string> = {},
  display?: string,
): Promise<SupervisedGame> {
  const folder = await mkdtemp(join(tmpdir(), "joypod-supervised-"));
  await chown(folder, sessionUserId, sessionUserId);
  const number = 100_000 + (process.pid % 10_000) * 100 + (nextDisplay++ % 100);
  await mkdir("/tmp/.X11-unix", { recursive: true, mode: 0o1777 });
  const closes = [await listen(join(folder, "pulse.sock"))];
  if (display === undefined) closes.push(await listen(`/tmp/.X11-unix/X${number}`));
  const reports = join(folder, "reports");
  await mkdir(reports);
  await chown(reports, sessionUserId, sessionUserId);

  const log = openLog(join(folder, "log"));
  const child = spawn(supervisor, launcher, {
    uid: sessionUserId,
    gid: sessionUserId,
    cwd: "/",
    env: {
      PATH: process.env.PATH,
      DISPLAY: display ?? `:${number}`,
      RUN_DIR: folder,
      GAME_REPORT_DIR: reports,
      JOYPOD_LOOPBACK: join(folder, "loopback"),
      ...environment,
    },
    stdio: ["ignore", log.writing, log.writing],
  });
  closeSync(log.writing);
  let output = "";
  log.reading.setEncoding("utf8").on("data", (chunk: string) => {
    output += chunk;
  });
  const logEnded = once(log.reading, "end");
  const ended = new Promise<number | undefined>((resolve, reject) => {
    child.on("error", reject).on("exit", (code) => resolve(code ?? undefined));
  });
  return {
    pid: child.pid ?? 0,
    runDirectory: folder,
    reports,
    output: () => output,
    account: async () =>
      parseGameTermination(await readFile(join(reports, "game.json"), "utf8").catch(() => "")),
    signal: (signal) => {
      child.kill(signal);
    },
    async exit() {
      const [code] = await Promise.all([ended, logEnded]);
      return code;
    },
    async remove() {
      child.kill("SIGTERM");
      await ended;
      // In a container, the supervisor's end takes every process along. Here one may live on and hold these.
      log.reading.destroy();
      for (const close of closes) close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/**
 * Opens a pipe, like a container's log. Node would create a socket, which is full after a few hundred short
 * lines.
 */
function openLog(path: string): { reading: Socket; writing: number } {
  execFileSync("mkfifo", [path]);
  const reading = new Socket({
    fd: openSync(path, constants.O_RDONLY | constants.O_NONBLOCK),
    readable: true,
    writable: false,
  });
  return { reading, writing: openSync(path, constants.O_WRONLY) };
}

/** Listens and answers nothing. Returns a function that ends the server and its connections. */
async function listen(path: string): Promise<() => void> {
  const connections = new Set<Socket>();
  const server = createServer((socket) => {
    connections.add(socket);
    socket.resume().on("error", () => undefined);
    socket.on("close", () => connections.delete(socket));
  });
  await new Promise<void>((resolve, reject) => server.once("error", reject).listen(path, resolve));
  return () => {
    server.close();
    for (const socket of connections) socket.destroy();
  };
}

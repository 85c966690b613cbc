import { chmod } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { expect } from "chai";
import { pino } from "pino";
import { socketNames } from "#contracts/nodeLayout.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import type { SupervisedGame } from "#test/support/session/supervisedGame.ts";
import { supervisedLaunches } from "#test/support/session/supervisedLaunches.ts";
import { openCloseSocket, type CloseSocket } from "#streamer/display/closeSocket.ts";
import { startXServer } from "#streamer/display/displayServers.ts";
import { startWindowManager, type WindowManager } from "#streamer/display/windowManager.ts";
import { connectDisplay } from "#streamer/display/xConnection.ts";
import type { ServerProcess } from "#streamer/processes.ts";

const closingGame = fileURLToPath(new URL("../../support/session/closingGame.ts", import.meta.url));
const window = `${process.execPath} ${closingGame}`;
const logger = pino({ level: "silent" });

/** A display with its window manager. */
interface Desktop {
  display: string;
  windows: WindowManager;
}

describe("the end of a supervised game", function () {
  this.timeout(60_000);
  const { launch } = supervisedLaunches();
  const servers: ServerProcess[] = [];
  let nextDisplay = 30_000 + (process.pid % 10_000);
  let played: Desktop;
  let closeSocket: CloseSocket | undefined;

  async function startDesktop(): Promise<Desktop> {
    const display = `:${nextDisplay++}`;
    const env = { PATH: process.env.PATH ?? "" };
    const size = { width: 640, height: 480 };
    const server = await startXServer({ display, ...size, env, logger, onExit: () => undefined });
    if (!server) throw new Error("Xvfb does not start: install the Debian package xvfb.");
    servers.push(server);
    const connection = await connectDisplay(display, () => undefined);
    return { display, windows: await startWindowManager({ connection, logger }) };
  }

  // One for all tests: the client library keeps the numbers of atoms, which differ between servers.
  before(async () => {
    played = await startDesktop();
  });
  afterEach(() => closeSocket?.close());
  after(async () => {
    for (const server of servers) await server.stop();
  });

  /** Starts the launcher next to a window manager that answers close requests. */
  async function play(
    launcher: string,
    { graceSeconds = 5, desktop: { display, windows } = played } = {},
  ): Promise<SupervisedGame> {
    const environment = { GAME_GRACE_SECONDS: String(graceSeconds), HOME: "/tmp" };
    const game = await launch(`#!/bin/bash\n${launcher}\n`, { display, environment });
    const socketPath = `${game.runDirectory}/${socketNames.close}`;
    closeSocket = await openCloseSocket({ socketPath, windows, logger });
    await chmod(socketPath, 0o666); // In a pod, streamer and game run as the same user.
    return game;
  }
  async function prints({ output }: SupervisedGame, text: string): Promise<void> {
    await eventually(() => output().includes(text), { what: `"${text}" in the game's output` });
  }
  async function opensWindow(game: SupervisedGame): Promise<void> {
    await prints(game, "open");
    await eventually(() => played.windows.count().open === 1, { what: "the managed window" });
  }
  /** Returns the times at which the game printed that it received this, in milliseconds. */
  function timesOf({ output }: SupervisedGame, what: string): number[] {
    return [...output().matchAll(new RegExp(`^${what} (\\d+)$`, "gm"))].map(([, time]) => Number(time));
  }

  it("begins with a close request, and with nothing else if the game ends within a second", async () => {
    const game = await play(`exec ${window} close`);
    await opensWindow(game);
    game.signal("SIGTERM");
    expect(await game.exit()).to.equal(0);
    expect(timesOf(game, "close")).to.have.length(1);
    expect(timesOf(game, "SIGTERM")).to.have.length(0);
    expect(await game.account()).to.include({ reason: "stopped", endedBy: "close-request" });
  });

  it("sends SIGTERM a second later, once to every process, and kills after the declared grace", async () => {
    const game = await play(
      `setsid bash -c 'trap "echo caught" TERM; sleep 99 & while :; do wait; done' & exec ${window}`,
      { graceSeconds: 2 },
    );
    await opensWindow(game);
    const stoppedAt = Number(process.hrtime.bigint() / 1_000_000n); // The game's clock, too.
    game.signal("SIGTERM");
    expect(await game.exit()).to.equal(0);
    expect(timesOf(game, "close")).to.have.length(1);
    const terms = timesOf(game, "SIGTERM");
    expect(terms).to.have.length(1);
    expect((terms[0] ?? 0) - stoppedAt).to.be.at.least(990);
    expect(game.output().match(/^caught$/gm)).to.have.length(1);
    expect(game.output()).to.contain("did not end within 2 s");
    expect(await game.account()).to.include({ reason: "stopped-by-kill", endedBy: "sigkill" });
  });

  it("lets a game finish its save within the grace", async () => {
    const game = await play("trap 'sleep 3; echo saved; exit 0' TERM; echo up; sleep 99 & wait");
    await prints(game, "up");
    game.signal("SIGTERM");
    expect(await game.exit()).to.equal(0);
    expect(game.output()).to.contain("saved\n");
    expect(await game.account()).to.include({ reason: "stopped", endedBy: "sigterm" });
  });

  it("sends SIGTERM at once to a game without windows, and wakes stopped processes for it", async () => {
    const stop = async (): Promise<number> => {
      const game = await play(
        "bash -c 'trap \"echo woken; exit 0\" TERM; echo up; kill -STOP $$; sleep 99' & wait",
      );
      await prints(game, "up");
      const startedAt = performance.now();
      game.signal("SIGTERM");
      expect(await game.exit()).to.equal(0);
      expect(game.output()).to.contain("woken\n");
      closeSocket?.close();
      return performance.now() - startedAt;
    };
    // After a close request, none would take less than a second. A busy machine may delay some.
    await eventually(async () => (await stop()) < 900, { timeoutMs: 50_000, what: "a stop without a wait" });
  });

  it("reaches processes that forked away from the launcher's group", async () => {
    const game = await play(
      "(setsid bash -c '(trap \"echo orphan; exit 0\" TERM; echo up; while :; do sleep 0.1; done) &' &); exec sleep 99",
    );
    await prints(game, "up");
    game.signal("SIGTERM");
    expect(await game.exit()).to.equal(0);
    expect(game.output()).to.contain("orphan\n");
    expect(await game.account()).to.include({ endedBy: "sigterm" });
  });

  /** A launcher that runs this and, when told to leave, exits with code 0 after `before`. */
  const leavingLauncher = (game: string, before = "") =>
    `trap '${before} exit 0' USR1; ${game} & game=$!; echo "launcher $$"; while :; do sleep 0.05; done`;
  async function leave(game: SupervisedGame): Promise<void> {
    const [, launcher] = /launcher (\d+)/.exec(game.output()) ?? [];
    process.kill(Number(launcher), "SIGUSR1");
    expect(await game.exit()).to.equal(0);
  }

  it("names a launcher that exits while its game has a window, and closes the game", async () => {
    const game = await play(leavingLauncher(`${window} close`));
    await opensWindow(game);
    await leave(game);
    expect(game.output()).to.contain("the launcher exited while the game was still running");
    expect(timesOf(game, "close")).to.have.length(1);
    expect(await game.account()).to.include({
      reason: "exited",
      hasOutlivedLauncher: true,
      endedBy: "close-request",
    });
  });

  it("names a launcher that starts a game in the background and exits before its first window", async () => {
    const game = await play(leavingLauncher("sleep 99"), { desktop: await startDesktop() });
    await prints(game, "launcher");
    await leave(game);
    expect(await game.account()).to.include({ hasOutlivedLauncher: true, endedBy: "sigterm" });
  });

  it("ends helpers that a closed game leaves behind without naming its launcher", async () => {
    const game = await play(`sleep 99 & ${leavingLauncher(window, "kill -KILL $game; wait $game;")}`);
    await opensWindow(game);
    await leave(game);
    expect(await game.account()).to.include({
      reason: "exited",
      hasOutlivedLauncher: false,
      endedBy: "sigterm",
    });
  });
});

import { createRequire } from "node:module";
import { Writable } from "node:stream";
import { expect } from "chai";
import { pino } from "pino";
import type { Client } from "x11";
import { pointerScale } from "#contracts/stream.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { startXServer } from "#streamer/display/xServer.ts";
import { createDesktopInput } from "#streamer/input/desktopInput.ts";
import type { ServerProcess } from "#streamer/processes/serverProcess.ts";
import { startWindowManager } from "#streamer/display/windowManager.ts";
import { connectDisplay, promised, type XConnection } from "#streamer/display/xConnection.ts";

const [width, height] = [640, 480];
const windowType = 33;

/** Requests of a hostile client that the streamer itself has no use for. */
interface GameClient extends Client {
  GrabServer(): void;
  UngrabServer(): void;
  DestroyWindow(window: number): void;
  GetGeometry(window: number, done: (error: Error | null, value: { width: number; height: number }) => void): void;
  terminate(): void;
}
interface GameLibrary {
  createClient(options: { display: string }, done: (error: Error | null, value: { client: GameClient }) => void): void;
}
const load: (name: string) => GameLibrary = createRequire(import.meta.url);

describe("the display under a hostile game", function () {
  this.timeout(60_000);
  const display = `:${20_000 + process.pid % 10_000}`;
  let server: ServerProcess | undefined;
  let manager: XConnection;
  let game: GameClient;
  let lines: number;
  let isLost: boolean;

  before(async () => {
    lines = 0;
    isLost = false;
    const log = pino(new Writable({ write(_line, _encoding, done) {
      lines++;
      done();
    } }));
    server = await startXServer({ display, width, height, env: { PATH: process.env.PATH ?? "" }, log, onExit: () => { isLost = true; } });
    if (!server) throw new Error("Xvfb does not start: install the Debian package xvfb.");
    manager = await connectDisplay(display, () => { isLost = true; });
    await startWindowManager({ connection: manager, width, height, log });
    ({ client: game } = await promised<{ client: GameClient }>((done) => load("x11").createClient({ display }, done)));
    game.on("error", () => undefined);
  });
  after(async () => {
    game.terminate();
    await server?.stop();
  });

  function openWindow(): number {
    const window = game.AllocID();
    game.CreateWindow(window, manager.root, 0, 0, 10, 10, 0, 0, 1, 0, {});
    game.MapWindow(window);
    return window;
  }
  async function listed(): Promise<number> {
    const list = await promised<number>((done) => game.InternAtom(false, "_NET_CLIENT_LIST", done));
    const { data } = await promised<{ data: Buffer }>((done) => game.GetProperty(0, manager.root, list, windowType, 0, 100_000, done));
    return data.length / 4;
  }
  async function fills(window: number): Promise<boolean> {
    const geometry = await promised<{ width: number; height: number }>((done) => game.GetGeometry(window, done));
    return geometry.width === width && geometry.height === height;
  }

  /** A window fills the screen: of those that were opened during the flood, not all do. */
  async function awaitService(): Promise<void> {
    await eventually(async () => {
      const window = openWindow();
      await eventually(() => fills(window), { timeoutMs: 1_000 });
      return true;
    }, { what: "a window to fill the screen" });
  }

  it("manages few of very many windows, logs little about them, and serves the next good one", async () => {
    const windows = Array.from({ length: 5_000 }, openWindow);
    for (let time = 0; time < 20; time++) for (const window of windows.slice(0, 500)) game.ConfigureWindow(window, { width: time + 1 });
    await eventually(async () => await listed() >= 200, { what: "managed windows" });
    expect(await listed()).to.be.at.most(256);
    expect(lines).to.be.at.most(70);
    for (const window of windows) game.DestroyWindow(window);
    await eventually(async () => await listed() === 0, { what: "no window to be left" });
    await awaitService();
    expect(isLost).to.equal(false);
  });

  it("does not manage a window that is gone before it could be asked whose it is", async () => {
    const before = await listed();
    game.GrabServer();
    game.DestroyWindow(openWindow());
    await promised<number>((done) => game.InternAtom(false, "A_ROUND_TRIP", done));
    game.UngrabServer();
    const next = openWindow();
    await eventually(() => fills(next), { what: "the next window to fill the screen" });
    expect(await listed()).to.equal(before + 1);
    game.DestroyWindow(next);
    await eventually(async () => await listed() === before, { what: "no window to be left of these two" });
  });

  it("queues a bounded number of events while a game holds the display", async () => {
    game.GrabServer();
    await promised<number>((done) => game.InternAtom(false, "A_ROUND_TRIP", done));
    const desktop = createDesktopInput(manager, width, height);
    for (let event = 0; event < 200_000; event++) desktop.movePointer(event % pointerScale, 0);
    expect(manager.isBehind()).to.equal(true);
    expect(manager.client.pack_stream.write_queue.length).to.be.lessThan(5_000);
    game.UngrabServer();
    await eventually(() => !manager.isBehind(), { what: "the display to go on" });
    await awaitService();
    expect(isLost).to.equal(false);
  });
});

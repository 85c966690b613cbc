import { spawn, type ChildProcess } from "node:child_process";
import { createInterface } from "node:readline";
import { pino } from "pino";
import { systemClock } from "#runtime/scheduling/clock.ts";
import { pointerScale, type StreamInput } from "#contracts/stream.ts";
import { watchCursor, type CursorWatch } from "#streamer/display/cursorWatch.ts";
import { readKeyboardMap } from "#streamer/display/keyboardMap.ts";
import { startXServer } from "#streamer/display/displayServers.ts";
import { startWindowManager } from "#streamer/display/windowManager.ts";
import { type XConnection, connectDisplay } from "#streamer/display/xConnection.ts";
import { createDesktopInput } from "#streamer/input/desktopInput.ts";
import { createGamePointer } from "#streamer/input/gamePointer.ts";
import { createKeyText } from "#streamer/input/keyText.ts";
import { createInputRouter, type InputRouter } from "#streamer/input/inputRouter.ts";
import { eventually } from "../clocks/eventually.ts";
import { compileInputReader } from "./compileC.ts";

const screen = { width: 1_280, height: 720 };
const logger = pino({ level: "silent" });
const unused = { pong: () => undefined, quality: () => undefined, released: () => undefined };

/** The press of F9, as SDL, GLFW and raw events name it. */
const settlingKeys = ["down F9", "down 298", "down 75"];

/** A display with the streamer's input, on which programs read input as engines do. */
export class InputDisplay {
  readonly connection: XConnection;
  readonly cursor: CursorWatch;
  readonly #name: string;
  readonly #program: string;
  readonly #router: InputRouter;
  readonly #stopServer: () => Promise<void>;
  #game: ChildProcess | undefined;
  #lines: string[] = [];

  private constructor(parts: {
    connection: XConnection;
    cursor: CursorWatch;
    name: string;
    program: string;
    router: InputRouter;
    stopServer: () => Promise<void>;
  }) {
    this.connection = parts.connection;
    this.cursor = parts.cursor;
    this.#name = parts.name;
    this.#program = parts.program;
    this.#router = parts.router;
    this.#stopServer = parts.stopServer;
  }

  static async start(): Promise<InputDisplay> {
    const name = `:${30_000 + (process.pid % 10_000)}`;
    const [program, server] = await Promise.all([
      compileInputReader(),
      startXServer({
        display: name,
        ...screen,
        fps: 60,
        env: { PATH: process.env["PATH"] ?? "" },
        logger,
        onExit: () => undefined,
      }),
    ]);
    if (!server) throw new Error("Xvfb does not start: install the Debian package xvfb.");
    const connection = await connectDisplay(name, () => undefined);
    await startWindowManager({ connection, logger });
    const cursor = await watchCursor({ connection, clock: systemClock });
    const router = createInputRouter({
      desktop: createDesktopInput({
        connection,
        picture: () => screen,
        pointer: createGamePointer({ clock: systemClock, isHidden: () => cursor.isHidden() }),
        text: createKeyText({ map: await readKeyboardMap(connection), clock: systemClock }),
        clock: systemClock,
      }),
      gamepads: { connect: () => 0, set: () => undefined, unplug: () => undefined, rest: () => undefined },
      clock: systemClock,
    });
    return new InputDisplay({ connection, cursor, name, program, router, stopServer: () => server.stop() });
  }

  /** Starts the program in one of its modes, and waits until it has the focus. */
  async play(mode: string): Promise<void> {
    this.#lines = [];
    this.#game = spawn(this.#program, [mode], {
      env: { PATH: process.env["PATH"], DISPLAY: this.#name, LC_ALL: "C.UTF-8" },
      stdio: ["ignore", "pipe", "inherit"],
    });
    createInterface({ input: this.#game.stdout! }).on("line", (line) => void this.#lines.push(line));
    await eventually(() => this.#lines.includes("ready"), { what: `${mode} with the focus` });
  }

  /** Ends the program. */
  async leave(): Promise<void> {
    const game = this.#game;
    this.#game = undefined;
    this.#router.releaseAll();
    if (!game || game.exitCode !== null) return;
    const ended = new Promise((resolve) => void game.once("exit", resolve));
    game.kill("SIGKILL");
    await ended;
  }

  async stop(): Promise<void> {
    await this.leave();
    await this.#stopServer();
  }

  send(...messages: StreamInput[]): void {
    for (const message of messages) this.#router.handle(JSON.stringify(message), unused);
  }

  /** Points at a pixel of the display. */
  point(x: number, y: number, isEntry = false): void {
    this.send({
      t: "move",
      x: Math.round(((x + 0.5) / screen.width) * pointerScale),
      y: Math.round(((y + 0.5) / screen.height) * pointerScale),
      ...(isEntry ? { e: 1 } : {}),
    });
  }

  /** Waits until the program has read all that was sent so far: a key, sent after it. */
  async settle(): Promise<void> {
    const presses = () => this.read("key").filter((line) => settlingKeys.includes(line)).length;
    const count = presses();
    this.send({ t: "key", c: "F9", d: 1 }, { t: "key", c: "F9", d: 0 });
    await eventually(() => presses() > count, { what: "a key" });
  }

  /** Returns what the program has read of one kind, such as `motion`, since `forget`. */
  read(kind: string): string[] {
    return this.#lines
      .filter((line) => line.startsWith(`${kind} `))
      .map((line) => line.slice(kind.length + 1));
  }

  forget(): void {
    this.#lines = [];
  }

  /** Returns the sum of all distances that the program has read. */
  distance(): [x: number, y: number] {
    return this.read("motion")
      .map((line) => line.split(" ").map(Number))
      .reduce<[number, number]>(([x, y], [byX = 0, byY = 0]) => [x + byX, y + byY], [0, 0]);
  }
}

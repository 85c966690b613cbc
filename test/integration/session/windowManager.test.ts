import { Writable } from "node:stream";
import { expect } from "chai";
import { pino } from "pino";
import type { Callback, Randr } from "x11";
import { pointerScale } from "#contracts/stream.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { desktopDeps } from "#test/support/session/desktopDeps.ts";
import { connectGame, words, type GameClient, type HeardEvent } from "#test/support/session/gameClient.ts";
import { startXServer } from "#streamer/display/displayServers.ts";
import { systemClock } from "#runtime/scheduling/clock.ts";
import { createDesktopInput } from "#streamer/input/desktopInput.ts";
import type { ServerProcess } from "#streamer/processes.ts";
import { startWindowManager, type WindowManager } from "#streamer/display/windowManager.ts";
import { type XConnection, connectDisplay, promised } from "#streamer/display/xConnection.ts";

const [width, height] = [640, 480];
const [replaceProperty, atomType, windowType] = [0, 4, 33];
const structureNotifyMask = 0x20000;
const substructureMask = 0x180000; // what the window manager hears of, on the root window
const propertyChangeMask = 0x400000;
const viewable = 2;
const [none, revertToParent] = [0, 2];
const [withdrawn, normal] = [0, 1];
const inputHint = 1;

describe("the display under a hostile game", function () {
  this.timeout(60_000);
  const display = `:${20_000 + (process.pid % 10_000)}`;
  let server: ServerProcess | undefined;
  let manager: XConnection;
  let windows: WindowManager;
  let game: GameClient;
  let events: HeardEvent[] = [];
  let lines: number;
  let isLost: boolean;

  before(async () => {
    lines = 0;
    isLost = false;
    const logger = pino(
      new Writable({
        write(_line, _encoding, done) {
          lines++;
          done();
        },
      }),
    );
    server = await startXServer({
      display,
      width,
      height,
      fps: 60,
      env: { PATH: process.env.PATH ?? "" },
      logger,
      onExit: () => {
        isLost = true;
      },
    });
    if (!server) throw new Error("Xvfb does not start: install the Debian package xvfb.");
    manager = await connectDisplay(display, () => {
      isLost = true;
    });
    manager.size = { width: 1, height: 1 }; // As where a game has changed it before the manager listens.
    windows = await startWindowManager({ connection: manager, logger });
    expect(manager.size).to.deep.equal({ width, height });
    expect(windows.hasWindow()).to.equal(false);
    game = await connectGame(display);
    game.on("event", (event: HeardEvent) => {
      events.push(event);
    });
  });
  beforeEach(() => {
    events = [];
  });
  after(async () => {
    game.terminate();
    await server?.stop();
  });

  function openWindow(): number {
    const window = game.AllocID();
    game.CreateWindow(window, manager.root, 0, 0, 400, 300, 0, 0, 1, 0, {});
    game.MapWindow(window);
    return window;
  }
  /**
   * Opens a window that wants to be asked to take the focus; with `input` the window manager is to focus it
   * as well.
   */
  async function openFocusTaker({ input }: { input: boolean }): Promise<number> {
    const [protocols, takeFocus, hints] = [
      await atom("WM_PROTOCOLS"),
      await atom("WM_TAKE_FOCUS"),
      await atom("WM_HINTS"),
    ];
    const window = game.AllocID();
    game.CreateWindow(window, manager.root, 0, 0, 400, 300, 0, 0, 1, 0, { eventMask: propertyChangeMask });
    game.ChangeProperty(replaceProperty, window, protocols, atomType, 32, words(takeFocus));
    game.ChangeProperty(replaceProperty, window, hints, hints, 32, words(inputHint, Number(input)));
    game.MapWindow(window);
    return window;
  }
  async function openDialog(owner: number): Promise<number> {
    const transientFor = await atom("WM_TRANSIENT_FOR");
    const window = game.AllocID();
    game.CreateWindow(window, manager.root, 0, 0, 400, 300, 0, 0, 1, 0, {});
    game.ChangeProperty(replaceProperty, window, transientFor, windowType, 32, words(owner));
    game.MapWindow(window);
    return window;
  }
  async function activate(window: number): Promise<void> {
    game.SendClientMessage(manager.root, window, await atom("_NET_ACTIVE_WINDOW"), 32, [1], substructureMask);
  }
  /** These windows as they lie over each other, the lowest first. */
  async function stacked(...windows: number[]): Promise<number[]> {
    const { children } = await promised<{ children: number[] }>((done) => game.QueryTree(manager.root, done));
    return children.filter((window) => windows.includes(window));
  }
  /**
   * Waits until the window manager has heard of all that the game did, and has done what follows, for which
   * it asks the server some questions.
   */
  async function settle(): Promise<void> {
    for (const client of [game, ...Array.from({ length: 5 }, () => manager.client)]) {
      await promised<{ width: number }>((done) => client.GetGeometry(manager.root, done));
    }
  }
  async function awaitFocus(window: number, what: string): Promise<void> {
    await eventually(async () => (await focused()) === window, { what: `${what} to have the focus` });
  }
  async function focused(): Promise<number> {
    return (await promised<{ focus: number }>((done) => game.GetInputFocus(done))).focus;
  }
  /** The times of the messages by which the window was asked to take the focus, once there are so many. */
  async function awaitFocusTimes(window: number, count: number): Promise<number[]> {
    const [protocols, takeFocus] = [await atom("WM_PROTOCOLS"), await atom("WM_TAKE_FOCUS")];
    return eventually(
      () => {
        const messages = events.filter(
          ({ name, wid, message_type: type }) =>
            name === "ClientMessage" && wid === window && type === protocols,
        );
        expect(messages).to.have.length(count);
        return messages.map(({ data: [message, time] = [] }) => {
          expect(message).to.equal(takeFocus);
          return time ?? 0;
        });
      },
      { what: "the window to be asked to take the focus" },
    );
  }
  function atom(name: string): Promise<number> {
    return promised<number>((done) => game.InternAtom(false, name, done));
  }
  async function listed(): Promise<number> {
    const list = await atom("_NET_CLIENT_LIST");
    const { data } = await promised<{ data: Buffer }>((done) =>
      game.GetProperty(0, manager.root, list, windowType, 0, 100_000, done),
    );
    return data.length / 4;
  }
  /** What WM_STATE says: a state, and no icon's window. */
  async function stateOf(window: number): Promise<number> {
    const name = await atom("WM_STATE");
    const { data } = await promised<{ data: Buffer }>((done) =>
      game.GetProperty(0, window, name, name, 0, 2, done),
    );
    expect(data.readUInt32LE(4)).to.equal(0);
    return data.readUInt32LE(0);
  }
  async function isViewable(window: number): Promise<boolean> {
    return (
      (await promised<{ mapState: number }>((done) => game.GetWindowAttributes(window, done))).mapState ===
      viewable
    );
  }
  async function fills(window: number, screen = { width, height }): Promise<boolean> {
    const geometry = await promised<{ width: number; height: number }>((done) =>
      game.GetGeometry(window, done),
    );
    return geometry.width === screen.width && geometry.height === screen.height;
  }

  /** A window fills the screen: of those that were opened during the flood, not all do. */
  async function awaitService(): Promise<void> {
    await eventually(
      async () => {
        const window = openWindow();
        await eventually(() => fills(window), { timeoutMs: 1_000 });
        return true;
      },
      { what: "a window to fill the screen" },
    );
  }

  it("manages few of very many windows, logs little about them, and serves the next good one", async () => {
    const windows = Array.from({ length: 5_000 }, openWindow);
    for (let time = 0; time < 20; time++)
      for (const window of windows.slice(0, 500)) game.ConfigureWindow(window, { width: time + 1 });
    await eventually(async () => (await listed()) >= 200, { what: "managed windows" });
    expect(await listed()).to.be.at.most(256);
    expect(lines).to.be.at.most(70);
    for (const window of windows) game.DestroyWindow(window);
    await eventually(async () => (await listed()) === 0, { what: "no window to be left" });
    await awaitService();
    expect(isLost).to.equal(false);
  });

  it("tells that the game has opened a window, also when it is closed again", async () => {
    const window = openWindow();
    await eventually(() => windows.hasWindow(), { what: "the window to be seen" });
    game.DestroyWindow(window);
    await awaitService();
    expect(windows.hasWindow()).to.equal(true);
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
    await eventually(async () => (await listed()) === before, { what: "no window to be left of these two" });
  });

  it("tells a hidden window that it is withdrawn, and that it is not once it is shown again", async () => {
    const window = openWindow();
    await eventually(() => isViewable(window), { what: "the window to be shown" });
    expect(await stateOf(window)).to.equal(normal);
    game.UnmapWindow(window);
    await eventually(async () => (await stateOf(window)) === withdrawn, {
      what: "the window to be told that it is hidden",
    });
    game.MapWindow(window);
    await eventually(() => isViewable(window), { what: "the window to be shown again" });
    expect(await stateOf(window)).to.equal(normal);
    game.DestroyWindow(window);
  });

  it("tells a window that is hidden and shown at once of both, in this order", async () => {
    const window = openWindow();
    await eventually(() => isViewable(window), { what: "the window to be shown" });
    const state = await atom("WM_STATE");
    game.ChangeWindowAttributes(window, { eventMask: propertyChangeMask });
    game.UnmapWindow(window);
    game.MapWindow(window);
    await eventually(() => isViewable(window), { what: "the window to be shown again" });
    expect(await stateOf(window)).to.equal(normal);
    expect(
      events.filter(
        ({ name, wid, atom: changed }) => name === "PropertyNotify" && wid === window && changed === state,
      ),
    ).to.have.length(2);
    game.DestroyWindow(window);
  });

  it("focuses a window that has WM_TAKE_FOCUS, and asks it to take the focus, at the server's time", async () => {
    const window = await openFocusTaker({ input: true });
    const [time] = await awaitFocusTimes(window, 1);
    expect(await focused()).to.equal(window);
    const openedAt = events.find(({ name, wid }) => name === "PropertyNotify" && wid === window)!.time!;
    expect(time).to.be.at.least(openedAt);
    game.DestroyWindow(window);
  });

  it("asks a window again when its dialog closes, and leaves it to the window where that alone sets the focus", async () => {
    const window = await openFocusTaker({ input: false });
    await awaitFocusTimes(window, 1);
    expect(await focused()).not.to.equal(window);
    const dialog = await openDialog(window);
    await awaitFocus(dialog, "the dialog");
    game.DestroyWindow(dialog);
    await awaitFocusTimes(window, 2);
    expect(await focused()).not.to.equal(window);
    game.DestroyWindow(window);
  });

  it("gives the keyboard to the window on top when another closes, also where that was opened earlier and activated since", async () => {
    const [older, newer] = [openWindow(), openWindow()];
    await awaitFocus(newer, "the newer window");
    await activate(older);
    await awaitFocus(older, "the older window");
    const last = openWindow();
    await awaitFocus(last, "the last window");
    game.DestroyWindow(last);
    await awaitFocus(older, "the older window, which is on top,");
    expect(await stacked(older, newer)).to.deep.equal([newer, older]);
    for (const window of [older, newer]) game.DestroyWindow(window);
  });

  for (const [focusThen, revertTo] of [
    ["no window", none],
    ["its parent", revertToParent],
  ] as const) {
    it(`gives the keyboard to the window on top when a popup that had it closes, which left it to ${focusThen}`, async () => {
      const window = openWindow();
      await awaitFocus(window, "the window");
      const popup = game.AllocID();
      game.CreateWindow(popup, manager.root, 0, 0, 10, 10, 0, 0, 1, 0, { overrideRedirect: true });
      game.MapWindow(popup);
      game.SetInputFocus(popup, revertTo);
      expect(await focused()).to.equal(popup);
      game.DestroyWindow(popup);
      await awaitFocus(window, "the window on top");
      game.DestroyWindow(window);
    });
  }

  it("leaves the keyboard where the game put it when a window below closes", async () => {
    const [below, above] = [openWindow(), openWindow()];
    await awaitFocus(above, "the window on top");
    const field = game.AllocID();
    game.CreateWindow(field, above, 0, 0, 400, 300, 0, 0, 1, 0, {});
    game.MapWindow(field);
    game.SetInputFocus(field, revertToParent);
    expect(await focused()).to.equal(field);
    game.DestroyWindow(below);
    await settle();
    expect(await focused()).to.equal(field);
    game.DestroyWindow(above);
  });

  it("raises a window that is activated with its dialogs over it, which keep their size", async () => {
    const owner = openWindow();
    await awaitFocus(owner, "the window");
    const dialog = await openDialog(owner);
    await awaitFocus(dialog, "the dialog");
    const other = openWindow();
    await awaitFocus(other, "the other window");
    await activate(owner);
    await awaitFocus(owner, "the activated window");
    expect(await stacked(owner, dialog, other)).to.deep.equal([other, owner, dialog]);
    expect(await fills(dialog)).to.equal(false);
    for (const window of [owner, dialog, other]) game.DestroyWindow(window);
  });

  it("asks all windows to close that support it, the topmost first", async () => {
    const [protocols, deleteWindow] = [await atom("WM_PROTOCOLS"), await atom("WM_DELETE_WINDOW")];
    const opened = [openWindow(), openWindow(), openWindow()];
    for (const window of opened.slice(0, 2))
      game.ChangeProperty(replaceProperty, window, protocols, atomType, 32, words(deleteWindow));
    await awaitFocus(opened[2]!, "the last window");
    expect(await windows.closeAll()).to.equal(2);
    await settle();
    const asked = events.filter(
      ({ name, message_type: type, data }) =>
        name === "ClientMessage" && type === protocols && data?.[0] === deleteWindow,
    );
    expect(asked.map(({ wid }) => wid)).to.deep.equal([opened[1], opened[0]]);
    for (const window of opened) game.DestroyWindow(window);
  });

  it("fills the screen in the size that a game gives it, and takes no client's word for another", async () => {
    const [small, claimed] = [
      { width: 320, height: 240 },
      { width: 5_000, height: 4_000 },
    ];
    const window = openWindow();
    await eventually(() => fills(window), { what: "a window to fill the screen" });
    const randr = await promised<Randr>((done) => game.require("randr", done));
    const {
      timestamp,
      config_timestamp: configured,
      crtcs: [crtc],
    } = await promised((done: Parameters<Randr["GetScreenResources"]>[1]) =>
      randr.GetScreenResources(manager.root, done),
    );
    await promised((done: Callback<unknown>) =>
      randr.SetCrtcConfig(crtc ?? 0, timestamp, configured, 0, 0, 0, 1, [], done),
    ); // The screen is no smaller than its outputs.
    try {
      randr.SetScreenSize(manager.root, small.width, small.height, 80, 60);
      await eventually(() => fills(window, small), { what: "the window to fill the smaller screen" });
      expect(manager.size).to.deep.equal(small);
      const event = Buffer.alloc(32);
      event[0] = 22; // ConfigureNotify
      event.writeUInt32LE(manager.root, 8);
      event.writeUInt16LE(claimed.width, 20);
      event.writeUInt16LE(claimed.height, 22);
      game.SendEvent(manager.root, false, structureNotifyMask, event);
      for (const { client } of [{ client: game }, manager])
        await promised<number>((done) => client.InternAtom(false, "A_ROUND_TRIP", done));
      expect(manager.size).to.deep.equal(small);
    } finally {
      randr.SetScreenSize(manager.root, width, height, 160, 120);
      await eventually(() => fills(window), { what: "the window to fill the screen again" });
      game.DestroyWindow(window);
    }
  });

  it("queues a bounded number of events while a game holds the display", async () => {
    game.GrabServer();
    await promised<number>((done) => game.InternAtom(false, "A_ROUND_TRIP", done));
    const desktop = createDesktopInput({
      ...desktopDeps(systemClock),
      connection: manager,
      picture: () => ({ width, height }),
    });
    for (let event = 0; event < 100_000; event++) {
      desktop.movePointer(event % pointerScale, 0, false);
      desktop.movePointerBy(1, 0);
    }
    expect(manager.isBehind()).to.equal(true);
    expect(manager.client.pack_stream.write_queue.length).to.be.lessThan(5_000);
    game.UngrabServer();
    await eventually(() => !manager.isBehind(), { what: "the display to go on" });
    await awaitService();
    expect(isLost).to.equal(false);
  });
});

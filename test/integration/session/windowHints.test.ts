import { expect } from "chai";
import { pino } from "pino";
import { pointerScale } from "#contracts/stream.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { desktopDeps } from "#test/support/session/desktopDeps.ts";
import { connectGame, words, type GameClient, type HeardEvent } from "#test/support/session/gameClient.ts";
import { systemClock } from "#runtime/scheduling/clock.ts";
import { startXServer } from "#streamer/display/displayServers.ts";
import { createDesktopInput, type DesktopInput } from "#streamer/input/desktopInput.ts";
import type { ServerProcess } from "#streamer/processes.ts";
import { startWindowManager } from "#streamer/display/windowManager.ts";
import { type XConnection, connectDisplay, promised } from "#streamer/display/xConnection.ts";

const screen = { width: 1_280, height: 720 };
const [replaceProperty, atomType, windowType] = [0, 4, 33];
const substructureMask = 0x180000; // what the window manager receives from the root window
const buttonPressMask = 4;
const inputHint = 1;
const [removeState, addState] = [0, 1];
const full = { x: 0, y: 0, ...screen };

interface Opened {
  place?: { x?: number; y?: number; width: number; height: number };
  type?: string;
  owner?: number;
  /** Minimum and maximum size. */
  fixed?: [number, number];
  maximum?: [number, number];
  input?: boolean;
  state?: string;
  by?: GameClient;
}

describe("the window manager", function () {
  this.timeout(60_000);
  const display = `:${10_000 + (process.pid % 10_000)}`;
  let server: ServerProcess | undefined;
  let manager: XConnection;
  let desktop: DesktopInput;
  let game: GameClient;
  let other: GameClient;
  let events: HeardEvent[] = [];

  before(async () => {
    const logger = pino({ level: "silent" });
    const env = { PATH: process.env.PATH ?? "" };
    server = await startXServer({ display, ...screen, fps: 60, env, logger, onExit: () => undefined });
    if (!server) throw new Error("Xvfb does not start: install the Debian package xvfb.");
    manager = await connectDisplay(display, () => undefined);
    await startWindowManager({ connection: manager, logger });
    desktop = createDesktopInput({
      ...desktopDeps(systemClock),
      connection: manager,
      picture: () => screen,
    });
  });
  beforeEach(async () => {
    [game, other] = [await connectGame(display), await connectGame(display)];
    events = [];
    game.on("event", (event: HeardEvent) => {
      events.push(event);
    });
  });
  afterEach(async () => {
    for (const client of [game, other]) client.terminate();
    await eventually(async () => (await property(manager.root, "_NET_CLIENT_LIST")).length === 0, {
      what: "all windows to be closed",
    });
  });
  after(() => server?.stop());

  function atom(name: string): Promise<number> {
    return promised<number>((done) => manager.client.InternAtom(false, name, done));
  }
  async function property(window: number, name: string): Promise<number[]> {
    const number = await atom(name);
    const { data } = await promised<{ data: Buffer }>((done) =>
      manager.client.GetProperty(0, window, number, 0, 0, 1_000, done),
    );
    return Array.from({ length: data.length / 4 }, (_, index) => data.readUInt32LE(4 * index));
  }
  async function set(window: number, name: string, type: number, ...values: number[]): Promise<void> {
    game.ChangeProperty(replaceProperty, window, await atom(name), type, 32, words(...values));
  }
  /** Opens a window with these hints and waits until it is shown. */
  async function open({ place, type, owner, fixed, maximum, input, state, by = game }: Opened = {}) {
    const window = by.AllocID();
    const { x = 0, y = 0, width, height } = place ?? { width: fixed?.[0] ?? 800, height: fixed?.[1] ?? 600 };
    by.CreateWindow(window, manager.root, x, y, width, height, 0, 0, 1, 0, { eventMask: buttonPressMask });
    await promised((done) => by.GetGeometry(window, done));
    const hints = await atom("WM_NORMAL_HINTS");
    const [min, max] = [fixed ?? [0, 0], fixed ?? maximum ?? [0, 0]];
    const flags = (fixed ? 16 : 0) | (fixed || maximum ? 32 : 0);
    await set(window, "WM_NORMAL_HINTS", hints, flags, 0, 0, 0, 0, ...min, ...max);
    if (type !== undefined)
      await set(window, "_NET_WM_WINDOW_TYPE", atomType, await atom(`_NET_WM_WINDOW_TYPE_${type}`));
    if (owner !== undefined) await set(window, "WM_TRANSIENT_FOR", windowType, owner);
    if (input !== undefined) await set(window, "WM_HINTS", await atom("WM_HINTS"), inputHint, Number(input));
    if (state !== undefined)
      await set(window, "_NET_WM_STATE", atomType, await atom(`_NET_WM_STATE_${state}`));
    await promised((done) => game.GetGeometry(manager.root, done));
    by.MapWindow(window);
    await eventually(async () => (await property(manager.root, "_NET_CLIENT_LIST")).includes(window), {
      what: "the window to be managed",
    });
    return window;
  }
  async function placeOf(window: number) {
    const { xPos, yPos, width, height } = await promised<{
      xPos: number;
      yPos: number;
      width: number;
      height: number;
    }>((done) => manager.client.GetGeometry(window, done));
    return { x: xPos, y: yPos, width, height };
  }
  async function focused(): Promise<number> {
    return (await promised<{ focus: number }>((done) => manager.client.GetInputFocus(done))).focus;
  }
  async function expectFocus(window: number): Promise<void> {
    await eventually(async () => (await focused()) === window, { what: "the window to have the focus" });
  }
  async function expectPlace(window: number, place: object): Promise<void> {
    await eventually(async () => expect(await placeOf(window)).to.deep.equal(place), {
      what: "the window's place",
    });
  }
  /** Windows in stacking order, the lowest first, as the server and the property have them. */
  async function expectStacked(...windows: number[]): Promise<void> {
    await eventually(
      async () => {
        const { children } = await promised<{ children: number[] }>((done) =>
          manager.client.QueryTree(manager.root, done),
        );
        expect(children.filter((window) => windows.includes(window))).to.deep.equal(windows);
        expect(await property(manager.root, "_NET_CLIENT_LIST_STACKING")).to.deep.equal(windows);
        return true;
      },
      { what: "the windows to be stacked" },
    );
  }
  async function changeState(window: number, action: number, name: string): Promise<void> {
    const [type, state] = [await atom("_NET_WM_STATE"), await atom(`_NET_WM_STATE_${name}`)];
    game.SendClientMessage(manager.root, window, type, 32, [action, state, 0, 1], substructureMask);
  }
  async function expectStates(window: number, ...names: string[]): Promise<void> {
    const states = await Promise.all(names.map((name) => atom(`_NET_WM_STATE_${name}`)));
    await eventually(async () => expect(await property(window, "_NET_WM_STATE")).to.have.members(states), {
      what: "the window's states",
    });
  }
  /** Clicks at this pixel of the streamed picture. */
  function click(x: number, y: number): void {
    const share = (at: number, size: number) => Math.round((at / size) * pointerScale);
    desktop.movePointer(share(x, screen.width), share(y, screen.height), true);
    for (const isDown of [true, false]) desktop.button(0, isDown);
  }
  async function expectClick(window: number, x: number, y: number): Promise<void> {
    await eventually(
      () => {
        const clicks = events.filter(({ name }) => name === "ButtonPress");
        expect(clicks.map((event) => [event.wid, event.x, event.y])).to.deep.equal([[window, x, y]]);
        return true;
      },
      { what: "the click" },
    );
  }

  it("lets no window of another type than a game's fill the display or take the focus", async () => {
    const main = await open();
    await expectPlace(main, full);
    const types = ["DIALOG", "UTILITY", "SPLASH", "TOOLBAR", "MENU", "TOOLTIP", "NOTIFICATION", "DOCK"];
    const place = { x: 200, y: 200, width: 300, height: 120 };
    const opened: number[] = [];
    for (const type of types) opened.push(await open({ type, place }));
    await expectStacked(main, ...opened);
    for (const [index, window] of opened.entries())
      expect(await placeOf(window), types[index]).to.deep.equal(place);
    expect(await focused()).to.equal(main);
    expect(await property(manager.root, "_NET_ACTIVE_WINDOW")).to.deep.equal([main]);
  });

  it("leaves the focus to the game when its program shows small windows or windows without input", async () => {
    const main = await open();
    const place = { x: 200, y: 200, width: 300, height: 120 };
    for (const hints of [{ fixed: [300, 120] as [number, number] }, { input: false }, { owner: 1 }, {}])
      await expectPlace(await open({ place, ...hints }), place);
    await expectPlace(await open({ place: { ...place, width: 32, height: 32 } }), {
      ...place,
      width: 32,
      height: 32,
    });
    expect(await focused()).to.equal(main);
  });

  it("focuses a game's dialog, centred above it, and the game again once it is closed", async () => {
    const main = await open();
    const dialog = await open({ owner: main, place: { width: 400, height: 200 } });
    await expectPlace(dialog, { x: 440, y: 260, width: 400, height: 200 });
    await expectFocus(dialog);
    game.DestroyWindow(dialog);
    await expectFocus(main);
    const modal = await open({ type: "DIALOG", state: "MODAL", place: { width: 400, height: 200 } });
    await expectFocus(modal);
  });

  it("focuses a small window that is clicked, and passes the click on", async () => {
    const main = await open();
    const tool = await open({ type: "UTILITY", place: { x: 100, y: 100, width: 300, height: 120 } });
    click(150, 160);
    await expectClick(tool, 50, 60);
    await expectFocus(tool);
    events = [];
    click(900, 600);
    await expectClick(main, 900, 600);
    await expectFocus(main);
    await expectStacked(main, tool);
  });

  it("streams a window of fixed size alone, where clicks land on what the player sees", async () => {
    const main = await open({ fixed: [640, 480] });
    const place = { x: 320, y: 120, width: 640, height: 480 };
    await expectPlace(main, place);
    await eventually(() => expect(manager.view).to.deep.equal(place), { what: "the view" });
    expect(await property(manager.root, "_JOYPOD_VIEW")).to.deep.equal([320, 120, 640, 480]);
    click(160 + 1.5 * 70, 1.5 * 40); // The picture is scaled by 1.5, with borders of 160 pixels.
    await expectClick(main, 70, 40);
    const dialog = await open({ owner: main, place: { x: 200, y: 300, width: 300, height: 120 } });
    await eventually(() => expect(manager.view).to.deep.equal({ ...place, x: 200, width: 760 }));
    game.DestroyWindow(dialog);
    await eventually(() => expect(manager.view).to.deep.equal(place), { what: "the view without a dialog" });
    game.DestroyWindow(main);
    await eventually(() => manager.view === undefined, { what: "the whole display to be streamed" });
  });

  it("extends the view to menus, which no window manager places", async () => {
    await open({ fixed: [640, 480] });
    const menu = game.AllocID();
    game.CreateWindow(menu, manager.root, 400, 500, 100, 150, 0, 0, 1, 0, { overrideRedirect: true });
    game.MapWindow(menu);
    await eventually(() => expect(manager.view).to.include({ y: 120, height: 530 }), { what: "the menu" });
    game.UnmapWindow(menu);
    await eventually(() => expect(manager.view).to.include({ y: 120, height: 480 }), { what: "no menu" });
  });

  it("keeps a window within its maximum size, and one that refuses others at the size that it requests", async () => {
    const limited = await open({ maximum: [800, 600] });
    await expectPlace(limited, { x: 240, y: 60, width: 800, height: 600 });
    game.DestroyWindow(limited);
    const stubborn = await open();
    for (let time = 0; time < 3; time++) game.ConfigureWindow(stubborn, { width: 1_000, height: 500 });
    await expectPlace(stubborn, { x: 140, y: 110, width: 1_000, height: 500 });
  });

  it("follows a game of fixed size that changes its size or to full screen and back", async () => {
    const main = await open({ fixed: [640, 480] });
    const hints = await atom("WM_NORMAL_HINTS");
    await set(main, "WM_NORMAL_HINTS", hints, 48, 0, 0, 0, 0, 800, 600, 800, 600);
    game.ConfigureWindow(main, { width: 800, height: 600 });
    const place = { x: 240, y: 60, width: 800, height: 600 };
    await expectPlace(main, place);
    await expectStates(main);
    await changeState(main, addState, "FULLSCREEN");
    await expectPlace(main, full);
    await expectStates(main, "FULLSCREEN");
    expect(manager.view).to.equal(undefined);
    await changeState(main, removeState, "FULLSCREEN");
    await expectPlace(main, place);
    await expectStates(main);
  });

  it("records other states without changing place or focus", async () => {
    const main = await open();
    const place = { x: 100, y: 100, width: 300, height: 120 };
    const tool = await open({ type: "UTILITY", place });
    for (const name of ["ABOVE", "DEMANDS_ATTENTION", "MODAL", "SKIP_TASKBAR"])
      await changeState(tool, addState, name);
    await expectStates(tool, "ABOVE", "DEMANDS_ATTENTION", "MODAL", "SKIP_TASKBAR");
    await changeState(tool, removeState, "ABOVE");
    await expectStates(tool, "DEMANDS_ATTENTION", "MODAL", "SKIP_TASKBAR");
    expect(await placeOf(tool)).to.deep.equal(place);
    expect(await focused()).to.equal(main);
    await changeState(main, addState, "ABOVE");
    await expectStates(main, "FULLSCREEN", "ABOVE");
  });

  it("gives a game that a launcher starts focus and display, and the launcher again at its end", async () => {
    const launcher = await open({ fixed: [500, 300] });
    await expectFocus(launcher);
    const started = await open({ by: other, place: { width: 320, height: 240 } });
    await expectPlace(started, full);
    await expectFocus(started);
    expect(manager.view).to.equal(undefined);
    other.DestroyWindow(started);
    await expectFocus(launcher);
    await eventually(() => expect(manager.view).to.include({ width: 500, height: 300 }));
  });

  it("makes a small window the game once its program closes the other, or enlarges it", async () => {
    const [first, second] = [await open(), await open({ place: { width: 320, height: 240 } })];
    await expectPlace(second, { x: 480, y: 240, width: 320, height: 240 });
    game.DestroyWindow(first);
    await expectPlace(second, full);
    await expectFocus(second);
    const third = await open({ place: { width: 100, height: 100 } });
    game.ConfigureWindow(third, { width: 1_024, height: 768 });
    await expectPlace(third, full);
    await expectFocus(third);
  });

  it("describes the desktop in the properties of the root window", async () => {
    const main = await open();
    expect(await property(manager.root, "_NET_WORKAREA")).to.deep.equal([0, 0, 1_280, 720]);
    expect(await property(manager.root, "_NET_DESKTOP_GEOMETRY")).to.deep.equal([1_280, 720]);
    expect(await property(manager.root, "_NET_NUMBER_OF_DESKTOPS")).to.deep.equal([1]);
    expect(await property(main, "_NET_WM_DESKTOP")).to.deep.equal([0]);
    const [check] = await property(manager.root, "_NET_SUPPORTING_WM_CHECK");
    expect(await property(check ?? 0, "_NET_SUPPORTING_WM_CHECK")).to.deep.equal([check]);
    const supported = await property(manager.root, "_NET_SUPPORTED");
    for (const name of ["_NET_WM_STATE_ABOVE", "_NET_WM_WINDOW_TYPE_DIALOG", "_NET_CLIENT_LIST_STACKING"])
      expect(supported).to.include(await atom(name));
    const unmapped = game.AllocID();
    game.CreateWindow(unmapped, manager.root, 0, 0, 10, 10, 0, 0, 1, 0, {});
    const request = await atom("_NET_REQUEST_FRAME_EXTENTS");
    game.SendClientMessage(manager.root, unmapped, request, 32, [], substructureMask);
    await eventually(async () =>
      expect(await property(unmapped, "_NET_FRAME_EXTENTS")).to.deep.equal([0, 0, 0, 0]),
    );
  });
});

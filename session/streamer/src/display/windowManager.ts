import { systemClock, type Clock } from "#runtime/scheduling/clock.ts";
import type { WindowEvent } from "x11";
import type { Logger } from "#runtime/logger.ts";
import {
  internAtoms,
  supportedHints,
  type Atoms,
  atomType,
  cardinalType,
  createSetProperty,
  windowType,
  type SetProperty,
  isFromServer,
  maxProtocols,
  parseWords,
  promised,
  type XConnection,
} from "./xConnection.ts";
import { createWindowFocus } from "./windowFocus.ts";
import { createWindowStack } from "./windowStack.ts";

// Numbers of the X11 protocol.
const replaceProperty = 0;
const configureNotify = 22;
const substructureNotifyMask = 0x80000;
const substructureRedirectMask = 0x100000;
const structureNotifyMask = 0x20000;
const propertyChangeMask = 0x400000;
const inputOnly = 2;
const mapStateViewable = 2;
const arrowGlyph = 68;
// Window states (ICCCM 4.1.3.1).
const withdrawnState = 0;
const normalState = 1;
const noIcon = 0;
/**
 * Maximum number of managed windows; more are shown unmanaged. Their list is a single request, whose size is
 * limited.
 */
const maxWindows = 256;
const maxLoggedWindows = 64;
const currentTime = 0;

interface WindowManagerOptions {
  connection: XConnection;
  logger: Logger;
}

/** A running window manager. It runs as long as the display. */
export interface WindowManager {
  /** Returns whether the game has ever opened a window. */
  hasWindow(): boolean;
  /** Returns the number of open windows, and of all that were ever opened. */
  count(): { open: number; opened: number };
  /**
   * Asks every window to close, the topmost first, as a click on its close button does (WM_DELETE_WINDOW).
   * Resolves to the number of windows that were asked; windows without that protocol are not. Waits for the
   * display's replies, which a game can withhold, so callers need a deadline.
   */
  closeAll(): Promise<number>;
}

/**
 * Starts a minimal window manager for streamed games. Every top-level window fills the screen and gets the
 * focus, whatever it requests and whatever size the game gives the screen. Dialogs keep their position above
 * it. It supports the parts of EWMH that SDL, GLFW, GTK and Qt check.
 */
export async function startWindowManager({
  connection,
  logger,
}: WindowManagerOptions): Promise<WindowManager> {
  const { client, root } = connection;
  const atoms = await internAtoms(client);
  const stack = createWindowStack();
  const isWithinBudget = createEventBudget(systemClock);
  let opened = 0;
  const setProperty = createSetProperty(client, atoms);
  const check = await announceManager(connection, atoms, setProperty);
  const focus = createWindowFocus({
    connection,
    atoms,
    setProperty,
    check,
    isManaged: (window) => stack.has(window),
  });

  const fill = (window: number) => {
    const { width, height } = connection.size;
    client.ConfigureWindow(window, { x: 0, y: 0, width, height, borderWidth: 0 });
    client.SendEvent(window, false, structureNotifyMask, buildConfigureNotify(window, width, height));
  };
  const listWindows = () => setProperty(root, "_NET_CLIENT_LIST", windowType, ...stack.windows());
  const raise = (window: number) => {
    client.RaiseWindow(window);
    for (const dialog of stack.raise(window)) if (isWithinBudget()) client.RaiseWindow(dialog);
  };

  const manage = (window: number, owner?: number) => {
    if (!stack.has(window) && stack.size() >= maxWindows) {
      client.MapWindow(window);
      return;
    }
    const isDialog = owner !== undefined;
    stack.add(window, owner);
    setProperty(window, "WM_STATE", atoms.WM_STATE, normalState, noIcon);
    setProperty(window, "_NET_FRAME_EXTENTS", cardinalType, 0, 0, 0, 0);
    if (!isDialog) {
      setProperty(window, "_NET_WM_STATE", atomType, atoms._NET_WM_STATE_FULLSCREEN);
      fill(window);
    }
    opened += 1;
    if (opened <= maxLoggedWindows) logger.info({ window, isDialog, opened }, "The game opened a window.");
    client.MapWindow(window);
    raise(window);
    focus.give(window);
    listWindows();
  };
  const unmanage = (window: number) => {
    if (stack.remove(window)) {
      setProperty(window, "WM_STATE", atoms.WM_STATE, withdrawnState, noIcon); // Wine waits for this before it shows the window again.
      listWindows();
    } else if (connection.isBehind() || !isWithinBudget()) return;
    focus.restore(() => stack.top());
  };
  const configure = (event: WindowEvent) => {
    if (stack.has(event.wid) && !stack.isDialog(event.wid)) {
      fill(event.wid);
      return;
    }
    const { x, y } = event;
    const { width, height } = connection.size;
    client.ConfigureWindow(event.wid, {
      x,
      y,
      width: Math.min(event.width, width),
      height: Math.min(event.height, height),
      borderWidth: 0,
    });
  };
  const handleMessage = (event: WindowEvent) => {
    if (!stack.has(event.wid)) return;
    if (event.message_type === atoms._NET_WM_STATE) {
      // A request to enter or leave full screen: keep it on.
      setProperty(event.wid, "_NET_WM_STATE", atomType, atoms._NET_WM_STATE_FULLSCREEN);
      fill(event.wid);
    } else if (event.message_type === atoms._NET_ACTIVE_WINDOW) {
      raise(event.wid);
      focus.give(event.wid);
    }
  };

  const fitScreen = () => {
    setProperty(root, "_NET_WORKAREA", cardinalType, 0, 0, connection.size.width, connection.size.height);
    for (const window of stack.windows()) if (!stack.isDialog(window) && isWithinBudget()) fill(window);
  };

  client.on("event", (event) => {
    focus.handleEvent(event);
    const isResize = isResizeOf(root, event);
    // Always applied, regardless of the budget, because pointer positions depend on it.
    if (isResize) connection.size = { width: event.width, height: event.height };
    const isEnd = event.name === "UnmapNotify" || event.name === "DestroyNotify"; // Always handled for managed windows, which are few; `unmanage` checks the budget for others.
    if (!isEnd && (connection.isBehind() || !isWithinBudget())) return;
    if (isResize) fitScreen();
    switch (event.name) {
      case "MapRequest": {
        readOwner(connection, atoms, event.wid, (owner) =>
          manage(event.wid, owner !== undefined && stack.has(owner) ? owner : undefined),
        );
        break;
      }
      case "ConfigureRequest":
        configure(event);
        break;
      case "ClientMessage":
        handleMessage(event);
        break;
      case "UnmapNotify":
      case "DestroyNotify":
        unmanage(event.wid);
        break;
    }
  });
  // Changes before this were not reported. Later ones arrive after the reply.
  client.GetGeometry(root, (error, geometry) => {
    if (error) return;
    connection.size = { width: geometry.width, height: geometry.height };
    fitScreen();
  });
  await manageExisting(connection, manage);
  return {
    hasWindow: () => opened > 0,
    count: () => ({ open: stack.size(), opened }),
    closeAll: async () => {
      const asked = await Promise.all(stack.topDown().map((window) => askToClose(connection, atoms, window)));
      return asked.filter((isAsked) => isAsked).length;
    },
  };
}

/**
 * Registers as the window manager: announces hints, redirects requests, and replaces the server's cross
 * pointer with an arrow. Returns the check window, which proves that a window manager is running.
 */
async function announceManager(
  { client, root }: XConnection,
  atoms: Atoms,
  setProperty: SetProperty,
): Promise<number> {
  const check = client.AllocID();
  client.CreateWindow(check, root, -1, -1, 1, 1, 0, 0, inputOnly, 0, {
    overrideRedirect: true,
    eventMask: propertyChangeMask,
  });
  for (const window of [root, check]) setProperty(window, "_NET_SUPPORTING_WM_CHECK", windowType, check);
  client.ChangeProperty(
    replaceProperty,
    check,
    atoms._NET_WM_NAME,
    atoms.UTF8_STRING,
    8,
    Buffer.from("joypod"),
  );
  setProperty(root, "_NET_SUPPORTED", atomType, ...supportedHints.map((name) => atoms[name]));
  const font = client.AllocID();
  const cursor = client.AllocID();
  client.OpenFont(font, "cursor");
  client.CreateGlyphCursor(
    cursor,
    font,
    font,
    arrowGlyph,
    arrowGlyph + 1,
    { R: 0, G: 0, B: 0 },
    { R: 65_535, G: 65_535, B: 65_535 },
  );
  client.ChangeWindowAttributes(root, { cursor });
  client.ChangeWindowAttributes(root, {
    eventMask: structureNotifyMask | substructureRedirectMask | substructureNotifyMask,
  });
  await promised<number>((done) => client.InternAtom(true, "WM_STATE", done)); // Its reply means that the server has processed all of the above.
  return check;
}

/** Asks the window to close. Resolves to false for a window that is gone or does not support the request. */
function askToClose({ client }: XConnection, atoms: Atoms, window: number): Promise<boolean> {
  const { WM_PROTOCOLS, WM_DELETE_WINDOW } = atoms;
  return new Promise((resolve) => {
    client.GetProperty(0, window, WM_PROTOCOLS, atomType, 0, maxProtocols, (error, property) => {
      const isSupported = !error && parseWords(property.data).includes(WM_DELETE_WINDOW);
      if (isSupported)
        client.SendClientMessage(window, window, WM_PROTOCOLS, 32, [WM_DELETE_WINDOW, currentTime], 0);
      resolve(isSupported);
    });
  });
}

/** Returns whether the event reports a new size of the window. */
function isResizeOf(window: number, event: WindowEvent): boolean {
  return event.name === "ConfigureNotify" && event.wid1 === window && isFromServer(event);
}

/**
 * Passes a dialog's owner to `then`; undefined for other windows. Does not call it when the window is gone,
 * because nothing would report its end later.
 */
function readOwner(
  { client }: XConnection,
  atoms: Atoms,
  window: number,
  then: (owner: number | undefined) => void,
): void {
  client.GetProperty(0, window, atoms.WM_TRANSIENT_FOR, 0, 0, 1, (error, property) => {
    if (!error) then(property.data.length < 4 ? undefined : property.data.readUInt32LE(0));
  });
}

/** Manages windows that already exist, left from before a restart of the streamer. */
async function manageExisting(
  { client, root }: XConnection,
  manage: (window: number) => void,
): Promise<void> {
  const { children } = await promised<{ children: number[] }>((done) => client.QueryTree(root, done));
  for (const window of children) {
    client.GetWindowAttributes(window, (error, attributes) => {
      if (!error && attributes.mapState === mapStateViewable && !attributes.overrideRedirect) manage(window);
    });
  }
}

/** Returns a synthetic ConfigureNotify event, which tells a client its real size. */
function buildConfigureNotify(window: number, width: number, height: number): Buffer {
  const event = Buffer.alloc(32);
  event[0] = configureNotify;
  event.writeUInt32LE(window, 4);
  event.writeUInt32LE(window, 8);
  event.writeUInt16LE(width, 20);
  event.writeUInt16LE(height, 22);
  return event;
}

/**
 * Events per second that are handled on a display full of hostile windows. Ordinary games stay far below it.
 */
const eventsPerSecond = 500;
const burst = 1_000;

/**
 * Returns a function that decides for each event whether it is handled. Each event costs several requests,
 * and a game can cause any number of them.
 */
function createEventBudget(clock: Pick<Clock, "monotonicMs">): () => boolean {
  let tokens = burst;
  let countedAt = clock.monotonicMs();
  return () => {
    const at = clock.monotonicMs();
    tokens = Math.min(burst, tokens + ((at - countedAt) / 1_000) * eventsPerSecond);
    countedAt = at;
    if (tokens < 1) return false;
    tokens--;
    return true;
  };
}

import { systemClock, type Clock } from "#runtime/scheduling/clock.ts";
import type { WindowEvent } from "x11";
import type { Logger } from "#runtime/logger.ts";
import { type XConnection, isFromServer, promised } from "./xConnection.ts";
import {
  type Atoms,
  atomType,
  cardinalType,
  createSetProperty,
  internAtoms,
  maxProtocols,
  parseWords,
  windowType,
} from "./atoms.ts";
import { type WindowHints, readSizeHints, readWindowHints } from "./windowHints.ts";
import { announceManager, applyStateMessage, publishSize } from "./managerProperties.ts";
import { createWindowFocus } from "./windowFocus.ts";
import { createWindowLayout, type ManagedWindow } from "./windowLayout.ts";
import { createWindowStack } from "./windowStack.ts";

// Numbers of the X11 protocol.
const mapStateViewable = 2;
const buttonPressMask = 4;
const [synchronous, asynchronous] = [0, 1];
const [anyButton, anyModifier] = [0, 0x8000];
const replayPointer = 2;
/** Value mask of a ConfigureRequest: the position. */
const positionMask = 3;
const currentTime = 0;
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
/** An override-redirect window that covers this share of the display is the game, as SDL 1.2 shows it. */
const gameShare = 1 / 4;

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
 * Starts a window manager for streamed games. A game's window fills the display, or is centred in the largest
 * size that it accepts, and has the focus. Dialogs and all other windows keep their size above it. Supports
 * the parts of ICCCM and EWMH that toolkits rely on.
 */
export async function startWindowManager({
  connection,
  logger,
}: WindowManagerOptions): Promise<WindowManager> {
  const { client, root, programOf } = connection;
  const atoms = await internAtoms(client);
  const stack = createWindowStack();
  const isWithinBudget = createEventBudget(systemClock);
  const setProperty = createSetProperty(client, atoms);
  const check = await announceManager(connection, atoms, setProperty);
  const layout = createWindowLayout({ connection, atoms, setProperty, stack, programOf, clock: systemClock });
  const focus = createWindowFocus({
    connection,
    atoms,
    setProperty,
    check,
    isManaged: (window) => stack.has(window),
  });
  let opened = 0;
  /** The window that was focused last; its program may have moved the focus since. */
  let active: number | undefined;

  let isListing = false;
  /** Publishes the windows, once for all events that have arrived together. */
  const listWindows = () => {
    if (isListing) return;
    isListing = true;
    queueMicrotask(() => {
      isListing = false;
      setProperty(root, "_NET_CLIENT_LIST", windowType, ...stack.windows());
      setProperty(root, "_NET_CLIENT_LIST_STACKING", windowType, ...stack.topDown().reverse());
    });
  };
  const raise = (window: number) => {
    client.RaiseWindow(window);
    for (const above of stack.raise(window)) if (isWithinBudget()) client.RaiseWindow(above);
    layout.updateView();
    listWindows();
  };
  /** Reports the next click in a window without the focus, which is replayed to the window. */
  const watchClicks = (window: number | undefined, isWatched: boolean) => {
    if (window === undefined || layout.get(window)?.hints.acceptsInput !== true) return;
    if (!isWatched) client.UngrabButton(window, anyButton, anyModifier);
    else
      client.GrabButton(window, 0, buttonPressMask, synchronous, asynchronous, 0, 0, anyButton, anyModifier);
  };
  const setActive = (window: number) => {
    if (active !== window) watchClicks(active, true);
    watchClicks(window, false);
    active = window;
  };
  const activate = (window: number) => {
    const managed = layout.get(window);
    if (!managed) return;
    managed.isFocusable = true;
    raise(window);
    setActive(window);
    focus.give(window);
  };
  /** Returns the window to focus when no other is: the topmost that had the focus before, or any. */
  const nextFocus = () => {
    const windows = stack.topDown();
    return (
      windows.find((window) => layout.get(window)?.isFocusable) ??
      windows.find((window) => layout.get(window)?.hints.acceptsInput)
    );
  };
  const restoreFocus = () =>
    focus.restore(() => {
      const window = nextFocus();
      if (window !== undefined) setActive(window);
      return window;
    });
  /** Returns whether a window that has just been shown gets the focus. */
  const takesFocus = (window: number, { kind, hints, states }: ManagedWindow) => {
    if (kind === "game" || active === undefined) return true;
    if (kind === "passive" || !hints.acceptsInput || hints.isUnfocused) return false;
    return (
      stack.has(hints.owner ?? 0) ||
      states.has(atoms._NET_WM_STATE_MODAL) ||
      programOf(active) !== programOf(window)
    );
  };

  const countOpened = (window: number, kind: string) => {
    opened += 1;
    if (opened <= maxLoggedWindows) logger.info({ window, kind, opened }, "The game opened a window.");
  };
  const isFull = (window: number) => !stack.has(window) && stack.size() >= maxWindows;
  const manage = (window: number, hints: WindowHints) => {
    if (isFull(window)) {
      client.MapWindow(window);
      return;
    }
    const managed = layout.open(window, hints);
    setProperty(window, "WM_STATE", atoms.WM_STATE, normalState, noIcon);
    setProperty(window, "_NET_FRAME_EXTENTS", cardinalType, 0, 0, 0, 0);
    setProperty(window, "_NET_WM_DESKTOP", cardinalType, 0);
    countOpened(window, managed.kind);
    client.MapWindow(window);
    if (takesFocus(window, managed)) activate(window);
    else {
      raise(window);
      watchClicks(window, true);
    }
  };
  const unmanage = (window: number) => {
    if (layout.hasOverlay(window)) layout.setOverlay(window, undefined);
    if (layout.close(window)) {
      setProperty(window, "WM_STATE", atoms.WM_STATE, withdrawnState, noIcon); // Wine waits for this before it shows the window again.
      const promoted = layout.promote(programOf(window));
      if (promoted !== undefined) activate(promoted);
      else if (active === window) active = nextFocus();
      layout.updateView();
      listWindows();
    } else if (connection.isBehind() || !isWithinBudget()) return;
    restoreFocus();
  };
  const configure = (event: WindowEvent) => {
    const { x, y, width, height } = event;
    const { size } = connection;
    if (stack.has(event.wid))
      readSizeHints(client, atoms, event.wid, (sizes) => {
        const hasPosition = ((event.mask ?? 0) & positionMask) !== 0;
        if (layout.request(event.wid, { x, y, width, height }, hasPosition, sizes)) activate(event.wid);
      });
    else
      client.ConfigureWindow(event.wid, {
        x,
        y,
        width: Math.min(width, size.width),
        height: Math.min(height, size.height),
        borderWidth: 0,
      });
  };
  const handleMessage = ({ wid, message_type: type, data = [] }: WindowEvent) => {
    const managed = layout.get(wid);
    if (type === atoms._NET_REQUEST_FRAME_EXTENTS)
      setProperty(wid, "_NET_FRAME_EXTENTS", cardinalType, 0, 0, 0, 0);
    if (!managed) return;
    if (type === atoms._NET_WM_STATE) layout.setStates(wid, applyStateMessage(managed.states, data, atoms));
    else if (type === atoms._NET_ACTIVE_WINDOW && managed.kind !== "passive") activate(wid);
    else if (type === atoms._NET_CLOSE_WINDOW) void askToClose(connection, atoms, wid);
  };
  const addOverlay = (window: number) =>
    client.GetGeometry(window, (error, geometry) => {
      if (error) return;
      const { xPos: x, yPos: y, width, height } = geometry;
      const { size } = connection;
      if (width * height >= gameShare * size.width * size.height) countOpened(window, "override-redirect");
      layout.setOverlay(window, { x, y, width, height });
    });

  const fitDisplay = () => {
    publishSize(connection, setProperty);
    layout.fitDisplay(isWithinBudget);
  };

  const handleEvent = (event: WindowEvent) => {
    switch (event.name) {
      case "MapRequest":
        if (isFull(event.wid)) client.MapWindow(event.wid);
        else readWindowHints(client, atoms, event.wid, (hints) => manage(event.wid, hints));
        break;
      case "MapNotify":
        if (event.overrideRedirect === true) addOverlay(event.wid);
        break;
      case "ConfigureRequest":
        configure(event);
        break;
      case "ConfigureNotify":
        if (event.wid1 !== undefined && layout.hasOverlay(event.wid1)) layout.setOverlay(event.wid1, event);
        break;
      case "ClientMessage":
        handleMessage(event);
        break;
      case "UnmapNotify":
      case "DestroyNotify":
        unmanage(event.wid);
        break;
    }
  };

  client.on("event", (event) => {
    focus.handleEvent(event);
    // The pointer is frozen until the click is replayed.
    if (event.name === "ButtonPress" && isFromServer(event)) {
      client.AllowEvents(replayPointer, event.time ?? currentTime);
      activate(event.wid);
      return;
    }
    const isResize = isResizeOf(root, event);
    // Always applied, regardless of the budget, because pointer positions depend on it.
    if (isResize) connection.size = { width: event.width, height: event.height };
    const isEnd = event.name === "UnmapNotify" || event.name === "DestroyNotify"; // Always handled for managed windows, which are few; `unmanage` checks the budget for others.
    if (!isEnd && (connection.isBehind() || !isWithinBudget())) return;
    if (isResize) fitDisplay();
    handleEvent(event);
  });
  // Changes before this were not reported. Later ones arrive after the reply.
  client.GetGeometry(root, (error, geometry) => {
    if (error) return;
    connection.size = { width: geometry.width, height: geometry.height };
    fitDisplay();
  });
  await manageExisting(connection, (window) =>
    readWindowHints(client, atoms, window, (hints) => manage(window, hints)),
  );
  return {
    hasWindow: () => opened > 0,
    count: () => ({ open: stack.size(), opened }),
    closeAll: async () => {
      const asked = await Promise.all(stack.topDown().map((window) => askToClose(connection, atoms, window)));
      return asked.filter((isAsked) => isAsked).length;
    },
  };
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

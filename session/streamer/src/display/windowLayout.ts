import type { Clock } from "#runtime/scheduling/clock.ts";
import {
  classifyWindow,
  isFixed,
  placeBeside,
  placeGame,
  viewOf,
  type WindowKind,
} from "./windowPlacement.ts";
import { knownStates } from "./managerProperties.ts";
import type { Rect, XConnection } from "./xConnection.ts";
import { type Atoms, type SetProperty, atomType, cardinalType } from "./atoms.ts";
import type { SizeHints, WindowHints } from "./windowHints.ts";
import type { WindowStack } from "./windowStack.ts";

const structureNotifyMask = 0x20000;
const configureNotify = 22;
/** Override-redirect windows whose place is known, such as menus. Games show few at a time. */
const maxOverlays = 64;
/**
 * A window that requests the same size so often within this time refuses every other. It gets that size,
 * because the exchange would never end.
 */
const insistingRequests = 3;
const insistingWithinMs = 2_000;

/** A managed window. */
export interface ManagedWindow {
  kind: WindowKind;
  hints: WindowHints;
  rect: Rect;
  states: Set<number>;
  /** Whether it may get the focus without being clicked. */
  isFocusable: boolean;
}

interface InsistedSize {
  width: number;
  height: number;
  count: number;
  since: number;
}

interface WindowLayoutDeps {
  connection: Pick<XConnection, "client" | "root" | "size" | "view">;
  atoms: Atoms;
  setProperty: SetProperty;
  stack: WindowStack;
  /** Returns a number that is the same for all windows of one connection to the display. */
  programOf: (window: number) => number;
  clock: Pick<Clock, "monotonicMs">;
}

/** Places windows, and decides which part of the display is streamed. */
export interface WindowLayout {
  get(window: number): ManagedWindow | undefined;
  /** Classifies and places a window that is about to be shown, and puts it on top of the stack. */
  open(window: number, hints: WindowHints): ManagedWindow;
  /** Returns whether the window was managed. */
  close(window: number): boolean;
  /**
   * Places a window whose program has requested a size or position. Returns whether that makes it a game
   * window.
   */
  request(window: number, geometry: Rect, hasPosition: boolean, sizes: SizeHints): boolean;
  /**
   * Changes a window's states, of which only full screen changes its place. Returns whether that makes it a
   * game window.
   */
  setStates(window: number, states: Set<number>): boolean;
  /** Returns a window that is a game window now that others of its program are closed; undefined for none. */
  promote(program: number): number | undefined;
  /** Places all windows on a display whose size has changed. */
  fitDisplay(isWithinBudget: () => boolean): void;
  /** Records the place of an override-redirect window; undefined once it is hidden. */
  setOverlay(window: number, rect: Rect | undefined): void;
  hasOverlay(window: number): boolean;
  /** Updates the streamed part of the display. Must follow every change of the stacking order. */
  updateView(): void;
}

export function createWindowLayout(deps: WindowLayoutDeps): WindowLayout {
  const { connection, atoms, setProperty, stack, programOf, clock } = deps;
  const { client, root } = connection;
  const windows = new Map<number, ManagedWindow>();
  const overlays = new Map<number, Rect>();
  const insisted = new Map<number, InsistedSize>();

  const isFullScreen = ({ states }: ManagedWindow) => states.has(atoms._NET_WM_STATE_FULLSCREEN);
  const gameBelow = (window: number) =>
    stack
      .topDown()
      .find(
        (other) =>
          other !== window && windows.get(other)?.kind === "game" && programOf(other) === programOf(window),
      );
  const place = (window: number, managed: ManagedWindow) => {
    const { kind, hints } = managed;
    const { size } = connection;
    const owner = stack.ownerOf(window);
    if (kind !== "game")
      managed.rect = placeBeside(size, hints, owner === undefined ? undefined : windows.get(owner)?.rect);
    else if (isFullScreen(managed)) managed.rect = { x: 0, y: 0, ...size };
    else managed.rect = placeGame(size, hints.sizes);
    client.ConfigureWindow(window, { ...managed.rect, borderWidth: 0 });
    client.SendEvent(window, false, structureNotifyMask, buildConfigureNotify(window, managed.rect));
  };
  /** Tells a window that fills the display that it is in full screen, which hides its own title bar. */
  const publishStates = (window: number, { kind, rect, states }: ManagedWindow) => {
    const { width, height } = connection.size;
    const fills = kind === "game" && rect.width === width && rect.height === height;
    const shown = fills ? new Set([atoms._NET_WM_STATE_FULLSCREEN, ...states]) : states;
    setProperty(window, "_NET_WM_STATE", atomType, ...shown);
  };
  const settle = (window: number, managed: ManagedWindow) => {
    place(window, managed);
    publishStates(window, managed);
  };
  /** Returns whether the window has requested this size so often that it refuses every other. */
  const insists = (window: number, { width, height }: Rect) => {
    const now = clock.monotonicMs();
    const last = insisted.get(window);
    const isSame = last?.width === width && last.height === height;
    const isRecent = last !== undefined && now - last.since < insistingWithinMs;
    if (isSame && last.count >= insistingRequests) return true;
    if (isSame && isRecent) last.count++;
    else insisted.set(window, { width, height, count: 1, since: now });
    return (insisted.get(window)?.count ?? 0) >= insistingRequests;
  };
  const updateView = () => {
    const order = stack.topDown();
    const top = order.findIndex((window) => windows.get(window)?.kind === "game");
    const above = order.slice(0, Math.max(0, top)).flatMap((window) => windows.get(window)?.rect ?? []);
    const game = windows.get(order[top] ?? 0)?.rect;
    const view = viewOf(connection.size, game, [...above, ...overlays.values()]);
    if (isSameRect(view, connection.view)) return;
    connection.view = view;
    const { x, y, width, height } = view ?? { x: 0, y: 0, width: 0, height: 0 };
    setProperty(root, "_JOYPOD_VIEW", cardinalType, x, y, width, height);
  };

  const classify = (window: number, hints: WindowHints) => {
    const named = hints.owner === window ? undefined : hints.owner;
    const owner = named !== undefined && stack.has(named) ? named : undefined;
    const game = gameBelow(window);
    const shown = windows.get(owner ?? game ?? 0)?.rect;
    const kind = classifyWindow({ ...hints, owner: named }, atoms, connection.size, shown);
    return { kind, owner: kind === "game" ? owner : (owner ?? game) };
  };
  /** Returns whether the window is a game window now and was not before. */
  const becomesGame = (window: number, managed: ManagedWindow) => {
    if (managed.kind === "game") return false;
    const { kind, owner } = classify(window, { ...managed.hints, states: [...managed.states] });
    if (kind !== "game" || (managed.kind === "dialog" && !isFullScreen(managed))) return false;
    managed.kind = kind;
    stack.add(window, owner);
    return true;
  };

  return {
    get: (window) => windows.get(window),
    open(window, hints) {
      const { kind, owner } = classify(window, hints);
      const states = new Set(knownStates(hints.states, atoms));
      const managed = { kind, hints, rect: hints.geometry, states, isFocusable: kind === "game" };
      stack.add(window, owner);
      windows.set(window, managed);
      settle(window, managed);
      return managed;
    },
    close(window) {
      insisted.delete(window);
      windows.delete(window);
      return stack.remove(window);
    },
    request(window, geometry, hasPosition, sizes) {
      const managed = windows.get(window);
      if (!managed) return false;
      const { width, height } = geometry;
      const isRefused =
        managed.kind === "game" &&
        !isFixed(sizes) &&
        (width !== managed.rect.width || height !== managed.rect.height || insisted.has(window));
      const accepted =
        isRefused && insists(window, geometry)
          ? { ...sizes, minWidth: width, maxWidth: width, minHeight: height, maxHeight: height }
          : sizes;
      const moved = managed.hints.sizes.hasPosition || hasPosition || sizes.hasPosition;
      managed.hints = { ...managed.hints, geometry, sizes: { ...accepted, hasPosition: moved } };
      const isNewGame = becomesGame(window, managed);
      settle(window, managed);
      updateView();
      return isNewGame;
    },
    setStates(window, states) {
      const managed = windows.get(window);
      if (!managed) return false;
      const wasFullScreen = isFullScreen(managed);
      managed.states = states;
      const isNewGame = becomesGame(window, managed);
      if (managed.kind === "game" && (wasFullScreen || isFullScreen(managed))) place(window, managed);
      publishStates(window, managed);
      updateView();
      return isNewGame;
    },
    promote(program) {
      const isOfProgram = (window: number) => programOf(window) === program;
      const found = stack.topDown().find((window) => {
        const managed = windows.get(window);
        return managed !== undefined && isOfProgram(window) && becomesGame(window, managed);
      });
      const managed = windows.get(found ?? 0);
      if (found !== undefined && managed) settle(found, managed);
      return found;
    },
    fitDisplay(isWithinBudget) {
      for (const [window, managed] of windows) if (isWithinBudget()) settle(window, managed);
      updateView();
    },
    setOverlay(window, rect) {
      if (rect === undefined) overlays.delete(window);
      else if (overlays.has(window) || overlays.size < maxOverlays) overlays.set(window, rect);
      updateView();
    },
    hasOverlay: (window) => overlays.has(window),
    updateView,
  };
}

function isSameRect(a: Rect | undefined, b: Rect | undefined): boolean {
  return a?.x === b?.x && a?.y === b?.y && a?.width === b?.width && a?.height === b?.height;
}

/** Returns a synthetic ConfigureNotify event, which tells a client its real place. */
function buildConfigureNotify(window: number, { x, y, width, height }: Rect): Buffer {
  const event = Buffer.alloc(32);
  event[0] = configureNotify;
  event.writeUInt32LE(window, 4);
  event.writeUInt32LE(window, 8);
  event.writeInt16LE(x, 16);
  event.writeInt16LE(y, 18);
  event.writeUInt16LE(width, 20);
  event.writeUInt16LE(height, 22);
  return event;
}

import type { Rect } from "./xConnection.ts";
import { type Atoms, passiveTypes, windowTypes } from "./atoms.ts";
import type { SizeHints, WindowHints } from "./windowHints.ts";

/**
 * How a window is treated: the game itself, a dialog above it, or a passive window, which keeps its size and
 * gets no focus until it is clicked.
 */
export type WindowKind = "game" | "dialog" | "passive";

interface Size {
  width: number;
  height: number;
}

/** The window's program already shows a game window of this size. */
type ShownGame = Size | undefined;

/** A program's second window is another game window only if it covers at least this share of the display. */
const gameShare = 1 / 4;

/**
 * Returns how to treat a window that is about to be shown on a display of this size. A window of a program
 * that shows no game window yet is the game, whatever its hints but a type or an owner.
 */
export function classifyWindow(
  { owner, types, states, sizes, acceptsInput, isUnfocused, geometry }: WindowHints,
  atoms: Atoms,
  display: Size,
  shown: ShownGame,
): WindowKind {
  if (states.includes(atoms._NET_WM_STATE_FULLSCREEN)) return "game";
  const type = windowTypes.find((name) => atoms[name] === types.find((other) => isKnownType(atoms, other)));
  if (type === "_NET_WM_WINDOW_TYPE_DIALOG") return "dialog";
  if (passiveTypes.some((passive) => passive === type)) return "passive";
  if (!shown) return "game";
  if (owner !== undefined) return "dialog";
  if (!acceptsInput || isUnfocused) return "passive";
  const { width, height } = isFixed(sizes) ? { width: sizes.minWidth, height: sizes.minHeight } : geometry;
  const area = width * height;
  const isSmall = area < gameShare * display.width * display.height && area < shown.width * shown.height;
  return isSmall ? "passive" : "game";
}

function isKnownType(atoms: Atoms, type: number): boolean {
  return windowTypes.some((name) => atoms[name] === type);
}

/** Returns whether a window has only one size. */
export function isFixed({ minWidth, minHeight, maxWidth, maxHeight }: SizeHints): boolean {
  return minWidth === maxWidth && minHeight === maxHeight;
}

/**
 * Returns the place of a game window: the whole display, or the largest size that the window accepts,
 * centred. A window that accepts only sizes larger than the display gets the display's size.
 */
export function placeGame(display: Size, { aspect, ...sizes }: SizeHints): Rect {
  let width = Math.min(display.width, sizes.maxWidth);
  let height = Math.min(display.height, sizes.maxHeight);
  if (aspect && width / height > aspect.max) width = Math.round(height * aspect.max);
  if (aspect && width / height < aspect.min) height = Math.round(width / aspect.min);
  width = Math.min(display.width, Math.max(width, sizes.minWidth));
  height = Math.min(display.height, Math.max(height, sizes.minHeight));
  return centre({ width, height }, { x: 0, y: 0, ...display });
}

/**
 * Returns the place of another window: its requested size and position, moved onto the display. A window that
 * requests no position is centred over its owner.
 */
export function placeBeside(display: Size, { geometry, sizes }: PlacedHints, owner: Rect | undefined): Rect {
  const width = Math.min(display.width, clamp(geometry.width, sizes.minWidth, sizes.maxWidth));
  const height = Math.min(display.height, clamp(geometry.height, sizes.minHeight, sizes.maxHeight));
  const isPlaced = sizes.hasPosition || geometry.x !== 0 || geometry.y !== 0;
  const wanted = isPlaced ? geometry : centre({ width, height }, owner ?? { x: 0, y: 0, ...display });
  return {
    x: clamp(wanted.x, 0, display.width - width),
    y: clamp(wanted.y, 0, display.height - height),
    width,
    height,
  };
}

type PlacedHints = Pick<WindowHints, "geometry" | "sizes">;

/** A smaller window is not enlarged to the whole picture: it is hardly a game. */
const minView: Size = { width: 160, height: 120 };

/**
 * Returns the part of the display that is streamed: the game window if it is smaller than the display, and
 * all windows above it. Undefined for the whole display.
 */
export function viewOf(display: Size, game: Rect | undefined, above: readonly Rect[]): Rect | undefined {
  if (!game || game.width < minView.width || game.height < minView.height) return undefined;
  const rects = [game, ...above];
  const x = Math.max(0, Math.min(...rects.map((rect) => rect.x)));
  const y = Math.max(0, Math.min(...rects.map((rect) => rect.y)));
  const right = Math.min(display.width, Math.max(...rects.map((rect) => rect.x + rect.width)));
  const bottom = Math.min(display.height, Math.max(...rects.map((rect) => rect.y + rect.height)));
  const view = { x, y, width: right - x, height: bottom - y };
  return view.width >= display.width && view.height >= display.height ? undefined : view;
}

function centre({ width, height }: Size, within: Rect): Rect {
  return {
    x: Math.floor(within.x + (within.width - width) / 2),
    y: Math.floor(within.y + (within.height - height) / 2),
    width,
    height,
  };
}

function clamp(value: number, min: number, max: number): number {
  return Math.max(min, Math.min(max, value));
}

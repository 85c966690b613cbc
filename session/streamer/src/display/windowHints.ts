import type { Rect } from "./xConnection.ts";
import type { Client } from "x11";
import { type Atoms, anyType, atomType, maxProtocols, parseWords } from "./atoms.ts";

/** Sizes that a window accepts (WM_NORMAL_HINTS, ICCCM 4.1.2.3), in pixels. */
export interface SizeHints {
  minWidth: number;
  minHeight: number;
  /** Infinity without a limit. */
  maxWidth: number;
  maxHeight: number;
  /** Smallest and largest ratio of width to height; undefined without a limit. */
  aspect: { min: number; max: number } | undefined;
  /** Whether the program or the user chose the position. */
  hasPosition: boolean;
}

/** What a window says about itself before it is shown. */
export interface WindowHints {
  /** The window that it is transient for; the root window stands for all of its program's windows. */
  owner: number | undefined;
  /** Window types in the window's order of preference (_NET_WM_WINDOW_TYPE). */
  types: readonly number[];
  /** States that the window requests (_NET_WM_STATE). */
  states: readonly number[];
  sizes: SizeHints;
  acceptsInput: boolean;
  /** Whether the window asks not to be focused when it is shown (_NET_WM_USER_TIME 0). */
  isUnfocused: boolean;
  /** Requested position and size. */
  geometry: Rect;
}

/** WM_HINTS flag: the hints contain the input field. */
const inputHint = 1;
/** Fields of WM_NORMAL_HINTS, and the bits that say which of them are valid. */
const sizeFields = 18;
const [userPosition, programPosition, minSize, maxSize, aspectRatio] = [1, 4, 16, 32, 128];
const maxListed = 32;

/** Larger than any display; toolkits write the largest integer for no limit. */
const noLimit = 32_767;

/** Reads only the sizes that the window accepts, which games change when they change the resolution. */
export function readSizeHints(
  client: Pick<Client, "GetProperty">,
  atoms: Pick<Atoms, "WM_NORMAL_HINTS">,
  window: number,
  then: (sizes: SizeHints) => void,
): void {
  client.GetProperty(0, window, atoms.WM_NORMAL_HINTS, anyType, 0, sizeFields, (error, property) => {
    if (!error) then(parseSizeHints(parseWords(property.data)));
  });
}

/**
 * Reads the window's hints and passes them to `then`. Does not call it when the window is gone, because
 * nothing would report its end later.
 */
export function readWindowHints(
  client: Pick<Client, "GetProperty" | "GetGeometry" | "ListProperties">,
  atoms: Atoms,
  window: number,
  then: (hints: WindowHints) => void,
): void {
  // Reads only properties that exist: a flood of windows, which have few, is handled in less time.
  client.ListProperties(window, (listError, listed) => {
    if (listError) return;
    const found = new Map<string, number[]>();
    for (const [name, type, length] of hintProperties) {
      if (!listed.includes(atoms[name])) continue;
      client.GetProperty(0, window, atoms[name], type, 0, length, (error, property) => {
        if (!error) found.set(name, parseWords(property.data));
      });
    }
    client.GetGeometry(window, (error, geometry) => {
      if (error) return;
      const { xPos: x, yPos: y, width, height } = geometry;
      then(parseHints((name) => found.get(name) ?? [], atoms, { x, y, width, height }));
    });
  });
}

/** The properties that hold hints, with their types and the number of words to read. */
const hintProperties = [
  ["WM_TRANSIENT_FOR", anyType, 1],
  ["_NET_WM_WINDOW_TYPE", atomType, maxListed],
  ["_NET_WM_STATE", atomType, maxListed],
  ["WM_NORMAL_HINTS", anyType, sizeFields],
  ["WM_HINTS", anyType, 2],
  ["WM_PROTOCOLS", atomType, maxProtocols],
  ["_NET_WM_USER_TIME", anyType, 1],
] as const;

type HintProperty = (typeof hintProperties)[number][0];

function parseHints(words: (name: HintProperty) => number[], atoms: Atoms, geometry: Rect): WindowHints {
  const takesFocus = words("WM_PROTOCOLS").includes(atoms.WM_TAKE_FOCUS);
  return {
    owner: words("WM_TRANSIENT_FOR")[0],
    types: words("_NET_WM_WINDOW_TYPE"),
    states: words("_NET_WM_STATE"),
    sizes: parseSizeHints(words("WM_NORMAL_HINTS")),
    acceptsInput: takesFocus || wantsInput(words("WM_HINTS")),
    isUnfocused: words("_NET_WM_USER_TIME")[0] === 0,
    geometry,
  };
}

/** Returns whether the window manager should focus the window according to WM_HINTS; true without hints. */
export function wantsInput([flags = 0, input = 1]: readonly number[]): boolean {
  return (flags & inputHint) === 0 || input !== 0;
}

/** Returns the accepted sizes. Values that make no sense, such as a maximum of 0, count as absent. */
export function parseSizeHints(words: readonly number[]): SizeHints {
  const [flags = 0] = words;
  const field = (flag: number, index: number, absent: number) => {
    const value = (words[index] ?? 0) | 0;
    return (flags & flag) !== 0 && value > 0 && value < noLimit ? value : absent;
  };
  const ratio = (index: number) => field(aspectRatio, index, 0) / field(aspectRatio, index + 1, 1);
  const [minWidth, minHeight] = [field(minSize, 5, 1), field(minSize, 6, 1)];
  const [min, max] = [ratio(11), ratio(13)];
  return {
    minWidth,
    minHeight,
    maxWidth: Math.max(minWidth, field(maxSize, 7, Infinity)),
    maxHeight: Math.max(minHeight, field(maxSize, 8, Infinity)),
    aspect: min > 0 && max >= min ? { min, max } : undefined,
    hasPosition: (flags & (userPosition | programPosition)) !== 0,
  };
}

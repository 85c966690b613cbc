import type { Client } from "x11";
import { promised } from "./xConnection.ts";

/** Types of windows that never are the game while another window is. */
export const passiveTypes = [
  "_NET_WM_WINDOW_TYPE_DESKTOP",
  "_NET_WM_WINDOW_TYPE_DOCK",
  "_NET_WM_WINDOW_TYPE_TOOLBAR",
  "_NET_WM_WINDOW_TYPE_MENU",
  "_NET_WM_WINDOW_TYPE_UTILITY",
  "_NET_WM_WINDOW_TYPE_SPLASH",
  "_NET_WM_WINDOW_TYPE_DROPDOWN_MENU",
  "_NET_WM_WINDOW_TYPE_POPUP_MENU",
  "_NET_WM_WINDOW_TYPE_TOOLTIP",
  "_NET_WM_WINDOW_TYPE_NOTIFICATION",
  "_NET_WM_WINDOW_TYPE_COMBO",
  "_NET_WM_WINDOW_TYPE_DND",
] as const;

/** All window types that the window manager knows. */
export const windowTypes = [
  "_NET_WM_WINDOW_TYPE_NORMAL",
  "_NET_WM_WINDOW_TYPE_DIALOG",
  ...passiveTypes,
] as const;

/** States that a window can have beside full screen. They are recorded and have no effect. */
const recordedStates = [
  "_NET_WM_STATE_MODAL",
  "_NET_WM_STATE_STICKY",
  "_NET_WM_STATE_MAXIMIZED_VERT",
  "_NET_WM_STATE_MAXIMIZED_HORZ",
  "_NET_WM_STATE_SKIP_TASKBAR",
  "_NET_WM_STATE_SKIP_PAGER",
  "_NET_WM_STATE_ABOVE",
  "_NET_WM_STATE_BELOW",
  "_NET_WM_STATE_DEMANDS_ATTENTION",
] as const;

/** Names of all states that a window can request. */
export const windowStates = ["_NET_WM_STATE_FULLSCREEN", ...recordedStates] as const;

/** Hints that the window manager supports and announces (EWMH). */
export const supportedHints = [
  "_NET_SUPPORTED",
  "_NET_SUPPORTING_WM_CHECK",
  "_NET_WM_NAME",
  "_NET_WM_STATE",
  ...windowStates,
  ...windowTypes,
  "_NET_WM_WINDOW_TYPE",
  "_NET_WM_DESKTOP",
  "_NET_WM_USER_TIME",
  "_NET_ACTIVE_WINDOW",
  "_NET_CLOSE_WINDOW",
  "_NET_FRAME_EXTENTS",
  "_NET_REQUEST_FRAME_EXTENTS",
  "_NET_CLIENT_LIST",
  "_NET_CLIENT_LIST_STACKING",
  "_NET_NUMBER_OF_DESKTOPS",
  "_NET_CURRENT_DESKTOP",
  "_NET_DESKTOP_GEOMETRY",
  "_NET_DESKTOP_VIEWPORT",
  "_NET_WORKAREA",
] as const;

const names = [
  ...supportedHints,
  "UTF8_STRING",
  "_JOYPOD_VIEW",
  "WM_S0",
  "WM_STATE",
  "WM_NORMAL_HINTS",
  "WM_TRANSIENT_FOR",
  "WM_PROTOCOLS",
  "WM_TAKE_FOCUS",
  "WM_DELETE_WINDOW",
  "WM_HINTS",
] as const;

export type AtomName = (typeof names)[number];
export type Atoms = Readonly<Record<AtomName, number>>;

/** Returns the server's numbers for the atom names. */
export async function internAtoms(client: Client): Promise<Atoms> {
  const numbers = await Promise.all(
    names.map(async (name) => {
      return [name, await promised<number>((done) => client.InternAtom(false, name, done))] as const;
    }),
  );
  return Object.fromEntries(numbers) as Atoms; // fromEntries loses the key type
}

// Property types of the X11 protocol.
export const anyType = 0;
export const atomType = 4;
export const cardinalType = 6;
export const windowType = 33;

/** Maximum number of protocols read per window; toolkits list three or four. */
export const maxProtocols = 64;

const replaceProperty = 0;

/** Sets a window property to 32-bit numbers. */
export type SetProperty = (window: number, name: AtomName, type: number, ...values: number[]) => void;

/** Returns a function that sets window properties by atom name. */
export function createSetProperty(client: Pick<Client, "ChangeProperty">, atoms: Atoms): SetProperty {
  return (window, name, type, ...values) =>
    client.ChangeProperty(replaceProperty, window, atoms[name], type, 32, buildWords(values));
}

/** Returns the 32-bit numbers of a property. Its writer may have left an incomplete one at the end. */
export function parseWords(data: Buffer): number[] {
  return Array.from({ length: Math.floor(data.length / 4) }, (_, index) => data.readUInt32LE(index * 4));
}

function buildWords(values: number[]): Buffer {
  const data = Buffer.alloc(values.length * 4);
  values.forEach((value, index) => data.writeUInt32LE(value >>> 0, index * 4));
  return data;
}

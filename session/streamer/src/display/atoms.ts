import type { Client } from "x11";
import { promised } from "./xConnection.ts";

/** The hints that the window manager supports, as EWMH has it announce. */
export const supportedHints = [
  "_NET_SUPPORTED",
  "_NET_SUPPORTING_WM_CHECK",
  "_NET_WM_NAME",
  "_NET_WM_STATE",
  "_NET_WM_STATE_FULLSCREEN",
  "_NET_ACTIVE_WINDOW",
  "_NET_FRAME_EXTENTS",
  "_NET_CLIENT_LIST",
] as const;

const names = [
  ...supportedHints,
  "UTF8_STRING",
  "_NET_WORKAREA",
  "WM_STATE",
  "WM_TRANSIENT_FOR",
  "WM_PROTOCOLS",
  "WM_TAKE_FOCUS",
  "WM_HINTS",
] as const;

export type AtomName = (typeof names)[number];
export type Atoms = Readonly<Record<AtomName, number>>;

/** Returns the numbers that the display server has for these names. */
export async function internAtoms(client: Client): Promise<Atoms> {
  const numbers = await Promise.all(
    names.map(async (name) => {
      return [name, await promised<number>((done) => client.InternAtom(false, name, done))] as const;
    }),
  );
  return Object.fromEntries(numbers) as Atoms; // fromEntries forgets the keys' type
}

import type { Client } from "x11";
import type { AtomName, Atoms } from "./atoms.ts";

// Types of properties, as the X11 protocol numbers them.
export const atomType = 4;
export const cardinalType = 6;
export const windowType = 33;

const replaceProperty = 0;

/** Sets a property of a window to numbers of 32 bits. */
export type SetProperty = (window: number, name: AtomName, type: number, ...values: number[]) => void;

/** Returns what sets properties by the names of their atoms. */
export function createSetProperty(client: Pick<Client, "ChangeProperty">, atoms: Atoms): SetProperty {
  return (window, name, type, ...values) =>
    client.ChangeProperty(replaceProperty, window, atoms[name], type, 32, buildWords(values));
}

/**
 * Returns the numbers of 32 bits that a property holds; whoever wrote it may have left half of one at its
 * end.
 */
export function parseWords(data: Buffer): number[] {
  return Array.from({ length: Math.floor(data.length / 4) }, (_, index) => data.readUInt32LE(index * 4));
}

function buildWords(values: number[]): Buffer {
  const data = Buffer.alloc(values.length * 4);
  values.forEach((value, index) => data.writeUInt32LE(value >>> 0, index * 4));
  return data;
}

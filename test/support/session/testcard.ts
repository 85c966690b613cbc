import layout from "../../../games/testcard/layout.json" with { type: "json" };
import { eventually } from "../eventually.ts";
import type { Area, Viewer } from "./viewer.ts";

/** Decoded colours are near the drawn ones: conversion and compression shift them a little. */
const tolerance = 40;

const colors = {
  white: "#ffffff", dark: "#202020", orange: "#ff8000",
  red: "#c00000", green: "#00c000", blue: "#0000c0", yellow: "#c0c000", cyan: "#00c0c0", magenta: "#c000c0",
} as const;
export type TestcardColor = keyof typeof colors;

/** Where the test card shows what; see games/testcard/README.md. */
export const testcard = layout;

/** Waits until an area of the picture has this colour. */
export async function showsColor(viewer: Viewer, area: Area, name: TestcardColor): Promise<void> {
  const color = [1, 3, 5].map((at) => Number.parseInt(colors[name].slice(at, at + 2), 16));
  await eventually(async () => {
    const seen = await viewer.color(area);
    if (seen.every((part, index) => Math.abs(part - color[index]!) <= tolerance)) return true;
    throw new Error(`it shows ${seen.join(", ")}`);
  }, { timeoutMs: 15_000, what: `${name} at ${area.x}, ${area.y}` });
}

/** The number of key presses the test card has counted, read from its row of bits. */
export async function readPresses(viewer: Viewer): Promise<number> {
  const { x, y, width, height, step, bits } = layout.counter;
  let presses = 0;
  for (let bit = 0; bit < bits; bit++) {
    const [red] = await viewer.color({ x: x + bit * step, y, width, height });
    if (red > 128) presses += 2 ** bit;
  }
  return presses;
}

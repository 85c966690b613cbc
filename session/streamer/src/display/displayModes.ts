import x11, { type Client, type Display, type Randr } from "x11";
import { promised } from "./xConnection.ts";

/** Sizes that games offer in their menus. Old engines ask for the small ones. */
const commonSizes = [
  [320, 240],
  [400, 300],
  [512, 384],
  [640, 480],
  [800, 600],
  [960, 540],
  [1_024, 576],
  [1_024, 768],
  [1_152, 864],
  [1_280, 720],
  [1_280, 800],
  [1_280, 960],
  [1_280, 1_024],
  [1_366, 768],
  [1_440, 900],
  [1_600, 900],
  [1_680, 1_050],
  [1_600, 1_200],
  [1_920, 1_080],
  [1_920, 1_200],
  [2_560, 1_440],
  [3_840, 2_160],
] as const;

/** Blank pixels and lines of a mode, in which its pulses lie. No signal leaves the display. */
const blanking = 8;
const unrotated = 1;

/** A display mode in RandR's terms. */
export interface DisplayMode {
  name: string;
  width: number;
  height: number;
  dot_clock: number;
  h_sync_start: number;
  h_sync_end: number;
  h_total: number;
  v_sync_start: number;
  v_sync_end: number;
  v_total: number;
}

/** Returns the modes of a display: its own size first, and all common sizes that fit in it. */
export function listModes(width: number, height: number, fps: number): DisplayMode[] {
  const smaller = commonSizes.filter(
    ([across, down]) => across <= width && down <= height && (across !== width || down !== height),
  );
  return [[width, height] as const, ...smaller.reverse()].map(([across, down]) => ({
    name: `${across}x${down}_${fps}`, // A name that is taken, as the first size is by Xvfb, is refused.
    width: across,
    height: down,
    dot_clock: (across + blanking) * (down + blanking) * fps,
    h_sync_start: across + 2,
    h_sync_end: across + 4,
    h_total: across + blanking,
    v_sync_start: down + 2,
    v_sync_end: down + 4,
    v_total: down + blanking,
  }));
}

/**
 * Gives a display of Xvfb, which lists only its own size without a refresh rate, the modes that games choose
 * from, and switches it to the first.
 */
export async function addDisplayModes(display: string, modes: readonly DisplayMode[]): Promise<void> {
  const opened = await promised<Display>((done) => x11.createClient({ display }, done));
  const { client } = opened;
  client.on("error", () => undefined);
  try {
    const root = opened.screen[0]?.root ?? 0;
    const randr = await promised<Randr>((done) => client.require("randr", done));
    await switchTo(client, randr, root, modes);
  } finally {
    client.terminate();
  }
}

async function switchTo(
  client: Client,
  randr: Randr,
  root: number,
  modes: readonly DisplayMode[],
): Promise<void> {
  const {
    crtcs: [crtc = 0],
    outputs: [output = 0],
    timestamp,
    config_timestamp: configured,
  } = await promised((done: Parameters<Randr["GetScreenResources"]>[1]) =>
    randr.GetScreenResources(root, done),
  );
  const numbers = await Promise.all(
    modes.map((mode) => promised<number>((done) => randr.CreateMode(root, mode, done))),
  );
  for (const number of numbers) randr.AddOutputMode(output, number);
  const { status } = await promised((done: Parameters<Randr["SetCrtcConfig"]>[8]) =>
    randr.SetCrtcConfig(crtc, timestamp, configured, 0, 0, numbers[0] ?? 0, unrotated, [output], done),
  );
  if (status !== 0) throw new Error(`The display refused its mode with status ${status}.`);
  await promised<number>((done) => client.InternAtom(true, "WM_STATE", done));
}

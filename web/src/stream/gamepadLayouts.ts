/** The fields of Gamepad that are read. */
export interface PadSample {
  readonly index: number;
  readonly id: string;
  /** Any mapping except "standard" has another order of sticks and buttons. */
  readonly mapping: string;
  readonly axes: readonly number[];
  readonly buttons: readonly { readonly pressed: boolean; readonly value: number }[];
}

/** Sticks and buttons in the order of the browser's standard mapping. */
export type StandardSample = Pick<PadSample, "axes" | "buttons">;

/** Where a device without the standard mapping has its sticks and buttons. */
interface Layout {
  left: readonly [x: number, y: number];
  right: readonly [x: number, y: number];
  /** The device's buttons, in the order of the standard mapping; -1 where it has none. */
  buttons: readonly number[];
  /** Axes of the triggers, from -1 at rest to 1. */
  triggers?: readonly [left: number, right: number];
  /** The directions: two axes, or one that counts clockwise in steps of 2/7 from -1, which is up. */
  hat?: readonly [x: number, y: number] | readonly [clockwise: number];
}

const leftTrigger = 6;
const rightTrigger = 7;
const [up, down, left, right, guide] = [12, 13, 14, 15, 16];
/** A direction counts as pressed, and a trigger as a button, from here on. */
const threshold = 0.5;
const none = -1;

/** Linux' order for Xbox pads, as browsers pass it on that do not know the pad. */
const linuxXbox: Layout = {
  left: [0, 1],
  right: [3, 4],
  triggers: [2, 5],
  hat: [6, 7],
  buttons: [0, 1, 2, 3, 4, 5, none, none, 6, 7, 9, 10, none, none, none, none, 8],
};
/** Linux' order for DualShock and DualSense. */
const linuxPlayStation: Layout = {
  left: [0, 1],
  right: [3, 4],
  triggers: [2, 5],
  hat: [6, 7],
  buttons: [0, 1, 3, 2, 4, 5, none, none, 8, 9, 11, 12, none, none, none, none, 10],
};
/** Linux' order for the Switch Pro Controller. */
const linuxNintendo: Layout = {
  left: [0, 1],
  right: [2, 3],
  hat: [4, 5],
  buttons: [0, 1, 3, 2, 5, 6, 7, 8, 9, 10, 12, 13, none, none, none, none, 11],
};
/** The order of DualShock and DualSense on Windows and macOS. */
const rawPlayStation: Layout = {
  left: [0, 1],
  right: [2, 5],
  triggers: [3, 4],
  hat: [9],
  buttons: [1, 2, 0, 3, 4, 5, none, none, 8, 9, 10, 11, none, none, none, none, 12],
};
/** The order of most pads for DirectInput. */
const directInput = [1, 2, 0, 3, 4, 5, 6, 7, 8, 9, 10, 11, none, none, none, none, 12];
/** The order of adapters and copies of the first pads with four buttons. */
const adapter = [2, 1, 3, 0, 4, 5, 6, 7, 8, 9, 10, 11, none, none, none, none, none];

const notPads = /wheel|pedal|flight|hotas|throttle|rudder|keyboard|mouse|touchpad|motion sensors/i;

const vendors = {
  microsoft: "045e",
  sony: "054c",
  nintendo: "057e",
  adapters: ["0079", "0810", "081f", "0e8f"],
};

/** Returns the layout of a device without the standard mapping; undefined if it is no gamepad. */
function layoutOf({ id, axes, buttons }: Pick<PadSample, "id" | "axes" | "buttons">): Layout | undefined {
  if (notPads.test(id) || axes.length < 2 || buttons.length < 4) return undefined;
  const vendor = vendorOf(id);
  const isLinux = axes.length === 8;
  if (isLinux && (vendor === vendors.sony || buttons.length === 13)) return linuxPlayStation;
  if (isLinux) return linuxXbox;
  if (vendor === vendors.sony && axes.length > 5) return rawPlayStation;
  if (vendor === vendors.nintendo && axes.length === 6 && buttons.length >= 14) return linuxNintendo;
  const order = vendor !== undefined && vendors.adapters.includes(vendor) ? adapter : directInput;
  const known = { left: [0, 1], buttons: order } as const;
  if (axes.length > 9) return { ...known, right: [2, 5], hat: [9] };
  if (axes.length >= 6) return { ...known, right: [2, 3], hat: [4, 5] };
  return { ...known, right: axes.length >= 4 ? [2, 3] : [none, none] };
}

/** Returns the vendor's number from a gamepad's id in Chromium's or Firefox's format. */
function vendorOf(id: string): string | undefined {
  const [, vendor] = /Vendor: ([0-9a-f]{4})/i.exec(id) ?? /^([0-9a-f]{1,4})-[0-9a-f]{1,4}-/i.exec(id) ?? [];
  return vendor?.toLowerCase().padStart(4, "0");
}

/** Reads one gamepad in the standard mapping, whatever its own is. */
export class PadReader {
  /** Trigger axes that have moved. Browsers report 0, which is half pressed, until then. */
  readonly #moved = new Set<number>();

  /** Returns undefined for a device that is no gamepad. */
  read(pad: PadSample): StandardSample | undefined {
    if (pad.mapping === "standard") return pad;
    const layout = layoutOf(pad);
    if (layout === undefined) return undefined;
    const axes = [...layout.left, ...layout.right].map((axis) => pad.axes[axis] ?? 0);
    const buttons = layout.buttons.map((place) => pad.buttons[place] ?? { pressed: false, value: 0 });
    for (const [place, axis] of [leftTrigger, rightTrigger].map(
      (at, side) => [at, layout.triggers?.[side]] as const,
    )) {
      if (axis !== undefined) buttons[place] = this.#readTrigger(pad.axes[axis] ?? 0, axis);
    }
    for (const place of readHat(layout.hat, pad.axes)) buttons[place] = { pressed: true, value: 1 };
    return { axes, buttons };
  }

  #readTrigger(value: number, axis: number): StandardSample["buttons"][number] {
    if (value !== 0) this.#moved.add(axis);
    const pressure = this.#moved.has(axis) ? (value + 1) / 2 : 0;
    return { pressed: pressure > threshold, value: pressure };
  }
}

/** Returns the pressed directions as places of the standard mapping. */
function readHat(hat: Layout["hat"], axes: readonly number[]): number[] {
  if (hat === undefined) return [];
  const [first, second] = hat;
  if (second !== undefined) {
    const [x, y] = [axes[first] ?? 0, axes[second] ?? 0];
    const pressed: [number, boolean][] = [
      [up, y < -threshold],
      [down, y > threshold],
      [left, x < -threshold],
      [right, x > threshold],
    ];
    return pressed.filter(([, isPressed]) => isPressed).map(([place]) => place);
  }
  const value = axes[first] ?? none;
  // At rest the value is beyond 1; devices that have not moved yet report 0.
  if (value > 1.1 || value === 0) return [];
  const eighth = Math.round(((value + 1) * 7) / 2);
  return [[up], [up, right], [right], [right, down], [down], [down, left], [left], [left, up]][eighth] ?? [];
}

/** Number of buttons of the standard mapping. */
export const standardButtons = guide + 1;

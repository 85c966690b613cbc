import type { StreamInput } from "#contracts/stream.ts";

/** The distance that browsers report for one notch, by `WheelEvent.deltaMode`: pixels, lines, pages. */
const perNotch = [100, 3, 1] as const;
const lineMode = 1;
/**
 * The distance of one notch in the non-standard fields, independent of the zoom and the system's lines per
 * notch.
 */
const legacyPerNotch = 120;
/** Wheels with fine steps report at most this many per notch. */
const stepsPerNotch = 8;
const maxNotches = 16;

/**
 * The fields of a wheel event that are read. Not every browser has the last two, where up and left are
 * positive.
 */
export type WheelSample = Pick<WheelEvent, "deltaX" | "deltaY" | "deltaMode" | "ctrlKey"> & {
  readonly shiftKey?: boolean;
  readonly wheelDeltaX?: number;
  readonly wheelDeltaY?: number;
};

/** The distance of one axis in both units; the older one has the opposite sign. */
interface Turn {
  delta: number;
  legacyDelta: number | undefined;
}

/** Adds up wheel distances, which touch pads report in small parts, and sends whole notches. */
export class WheelCapture {
  readonly #send: (message: StreamInput) => void;
  /** macOS also fills the older fields for touch pads. */
  readonly #isMac: boolean;
  /** Firefox also fills them for distances in pixels, which are those of touch pads. */
  readonly #isFirefox: boolean;
  /** The system's lines per notch, which Firefox reports: the fewest seen. */
  #linesPerNotch: number | undefined;
  #restX = 0;
  #restY = 0;

  constructor(send: (message: StreamInput) => void, userAgent: string) {
    this.#send = send;
    this.#isMac = userAgent.includes("Macintosh");
    this.#isFirefox = userAgent.includes("Firefox/");
  }

  /**
   * Adds an event's distances. `isControlHeld` tells whether a Control key is down.
   *
   * Reads the mode first: if a page reads a distance first, Firefox assumes that it supports only pixels, and
   * converts lines to pixels.
   */
  sample(sample: WheelSample, isControlHeld = false): void {
    const { deltaMode, ctrlKey } = sample;
    const [across, down] = readTurns(sample);
    // Browsers report a pinch with Control, pressed or not, and Chromium reports each small part of one as a
    // whole notch.
    const isPinch = ctrlKey && !isControlHeld;
    const tellsNotches = !isPinch && !this.#isMac && (!this.#isFirefox || deltaMode === lineMode);
    const notches = ({ delta, legacyDelta }: Turn): number =>
      (tellsNotches ? legacyNotches(legacyDelta) : undefined) ??
      this.#lineNotches(deltaMode, delta) ??
      delta / (perNotch[deltaMode] ?? perNotch[0]);
    this.#restX = withSameDirection(this.#restX, notches(across));
    this.#restY = withSameDirection(this.#restY, notches(down));
    const x = Math.trunc(this.#restX);
    const y = Math.trunc(this.#restY);
    this.#restX -= x;
    this.#restY -= y;
    if (x !== 0 || y !== 0) this.#send({ t: "wheel", x: clamp(x), y: clamp(y) });
  }

  reset(): void {
    this.#restX = 0;
    this.#restY = 0;
  }

  /**
   * Returns the notches of a distance in lines, whose number per notch is a setting of the system; undefined
   * for parts of lines and other units.
   */
  #lineNotches(deltaMode: number, lines: number): number | undefined {
    if (deltaMode !== lineMode || lines === 0 || !Number.isInteger(lines)) return undefined;
    this.#linesPerNotch = Math.min(this.#linesPerNotch ?? Infinity, Math.abs(lines));
    return Math.sign(lines) * Math.round(Math.abs(lines) / this.#linesPerNotch);
  }
}

/**
 * Returns the distances across and down. Chromium turns a wheel sideways while Shift is down, which games use
 * as a key.
 */
function readTurns({ deltaX, deltaY, shiftKey, wheelDeltaX, wheelDeltaY }: WheelSample): [Turn, Turn] {
  const across = { delta: deltaX, legacyDelta: wheelDeltaX };
  const down = { delta: deltaY, legacyDelta: wheelDeltaY };
  return shiftKey === true && deltaY === 0 ? [down, across] : [across, down];
}

/**
 * Returns the number of notches; undefined for the small parts of a touch pad, and for browsers that do not
 * report them.
 */
function legacyNotches(legacyDelta: number | undefined): number | undefined {
  if (legacyDelta === undefined || legacyDelta === 0) return undefined;
  const notches = -legacyDelta / legacyPerNotch;
  return Number.isInteger(notches * stepsPerNotch) ? notches : undefined;
}

/** A change of direction discards the rest, so that the first notch back is not lost. */
function withSameDirection(rest: number, delta: number): number {
  return Math.sign(rest) * Math.sign(delta) < 0 ? delta : rest + delta;
}

function clamp(notches: number): number {
  return Math.min(maxNotches, Math.max(-maxNotches, notches)) + 0;
}

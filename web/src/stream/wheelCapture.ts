import type { StreamInput } from "#contracts/stream.ts";

/** The distance that browsers report for one notch, by `WheelEvent.deltaMode`: pixels, lines, pages. */
const perNotch = [100, 3, 1] as const;
/**
 * The distance of one notch in the non-standard fields, independent of the zoom and the system's lines per
 * notch.
 */
const legacyPerNotch = 120;
const maxNotches = 16;

/**
 * The fields of a wheel event that are read. Not every browser has the last two, where up and left are
 * positive.
 */
export type WheelSample = Pick<WheelEvent, "deltaX" | "deltaY" | "deltaMode" | "ctrlKey"> & {
  readonly wheelDeltaX?: number;
  readonly wheelDeltaY?: number;
};

/** Adds up wheel distances, which touch pads report in small parts, and sends whole notches. */
export class WheelCapture {
  readonly #send: (message: StreamInput) => void;
  /** macOS also fills the older fields for touch pads. */
  readonly #isMac: boolean;
  #restX = 0;
  #restY = 0;

  constructor(send: (message: StreamInput) => void, userAgent: string) {
    this.#send = send;
    this.#isMac = userAgent.includes("Macintosh");
  }

  /**
   * Reads the mode first: if a page reads a distance first, Firefox assumes that it supports only pixels, and
   * converts lines to pixels.
   */
  sample({ deltaMode, deltaX, deltaY, ctrlKey, wheelDeltaX, wheelDeltaY }: WheelSample): void {
    const distance = perNotch[deltaMode] ?? perNotch[0];
    // Browsers report a pinch with Control, pressed or not, and Chromium reports each small part of one as a
    // whole notch.
    const tellsNotches = !ctrlKey && !this.#isMac;
    this.#restX = withSameDirection(
      this.#restX,
      (tellsNotches ? wholeNotches(wheelDeltaX) : undefined) ?? deltaX / distance,
    );
    this.#restY = withSameDirection(
      this.#restY,
      (tellsNotches ? wholeNotches(wheelDeltaY) : undefined) ?? deltaY / distance,
    );
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
}

/**
 * Returns the number of notches; undefined for the partial notches of a touch pad, and for browsers that do
 * not report them.
 */
function wholeNotches(legacyDelta: number | undefined): number | undefined {
  if (legacyDelta === undefined || legacyDelta === 0) return undefined;
  const notches = -legacyDelta / legacyPerNotch;
  return Number.isInteger(notches) ? notches : undefined;
}

/** A change of direction discards the rest, so that the first notch back is not lost. */
function withSameDirection(rest: number, delta: number): number {
  return Math.sign(rest) * Math.sign(delta) < 0 ? delta : rest + delta;
}

function clamp(notches: number): number {
  return Math.min(maxNotches, Math.max(-maxNotches, notches)) + 0;
}

import type { StreamInput } from "#contracts/stream.ts";

/** The distance that browsers report for one notch, by `WheelEvent.deltaMode`: pixels, lines, pages. */
const perNotch = [100, 3, 1] as const;
/**
 * The distance of one notch in the fields that came before the standard, whatever the zoom and the system's
 * lines for a notch.
 */
const legacyPerNotch = 120;
const maxNotches = 16;

/**
 * The fields of a wheel event that are read. Not every browser has the last two, in which up and left are
 * positive.
 */
export type WheelSample = Pick<WheelEvent, "deltaX" | "deltaY" | "deltaMode" | "ctrlKey"> & {
  readonly wheelDeltaX?: number;
  readonly wheelDeltaY?: number;
};

/** Adds up wheel distances, which touch pads report in small parts, and sends whole notches. */
export class WheelCapture {
  readonly #send: (message: StreamInput) => void;
  /** macOS makes the older fields of distances, also of those that a touch pad scrolls. */
  readonly #isMac: boolean;
  #restX = 0;
  #restY = 0;

  constructor(send: (message: StreamInput) => void, userAgent: string) {
    this.#send = send;
    this.#isMac = userAgent.includes("Macintosh");
  }

  /**
   * Reads the mode first: Firefox takes whoever reads a distance first for a page that knows pixels alone,
   * and then tells lines as pixels.
   */
  sample({ deltaMode, deltaX, deltaY, ctrlKey, wheelDeltaX, wheelDeltaY }: WheelSample): void {
    const distance = perNotch[deltaMode] ?? perNotch[0];
    // With Control, pressed or not, browsers report a pinch, and in Chromium each small part of one as a
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
 * Returns the notches that a wheel was turned by; undefined for a touch pad's parts of one, and where a
 * browser does not tell.
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

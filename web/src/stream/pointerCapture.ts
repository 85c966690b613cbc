import type { StreamInput } from "#contracts/stream.ts";
import { toPointerCoordinates, type Area } from "./pictureArea.ts";

/**
 * Bits of `PointerEvent.buttons`, in the order of `MouseEvent.button`: left, middle, right, back, forward.
 */
const buttonBits = [1, 4, 2, 8, 16] as const;
/** `MouseEvent.button` of two buttons that browsers use to go through the history. */
export const backButton = 3;
export const forwardButton = 4;
const maxDistance = 4_096;

export interface PointerSample {
  clientX: number;
  clientY: number;
  movementX: number;
  movementY: number;
  buttons: number;
}

/** A position in the picture, in the unit of messages. */
interface Position {
  x: number;
  y: number;
}

export interface PointerCaptureOptions {
  /** Returns the current area of the picture on the page. */
  area: () => Area;
  /** Returns the size of the unit of `movementX` and `movementY` in steps of the mouse. */
  movementUnit: () => number;
}

/**
 * Turns pointer events into messages. Presses are found in the change of the `buttons` bits, because browsers
 * report a second button, pressed while one is held, as a movement.
 */
export class PointerCapture {
  readonly #send: (message: StreamInput) => void;
  readonly #options: PointerCaptureOptions;
  #buttons = 0;
  /** The buttons that were pressed on the page's controls, and belong to them until they go up. */
  #ofPage = 0;
  #restX = 0;
  #restY = 0;
  /** The last position that was sent; undefined if the game's pointer may be elsewhere. */
  #position: Position | undefined;

  constructor(send: (message: StreamInput) => void, options: PointerCaptureOptions) {
    this.#send = send;
    this.#options = options;
  }

  /**
   * Sends an event's position, or its movement while the pointer is locked to the picture, and then its
   * buttons.
   */
  sample(sample: PointerSample, isLocked: boolean): void {
    if (isLocked) this.#moveBy(sample);
    else this.#moveTo(sample);
    this.#ofPage &= sample.buttons;
    this.#press(sample.buttons & ~this.#ofPage);
  }

  /**
   * Reads the buttons of an event on the page's controls: those that are up there are up in the game, and
   * those pressed there are not the game's.
   */
  sampleOnPage({ buttons }: Pick<PointerSample, "buttons">): void {
    this.#ofPage = buttons & ~this.#buttons;
    this.#press(buttons & this.#buttons);
  }

  /** The buttons that the game has as held, as in `MouseEvent.buttons`. */
  get buttons(): number {
    return this.#buttons;
  }

  /**
   * Releases the buttons when the browser takes over the pointer. The position of such an event is not valid:
   * it is zero in Chromium.
   */
  cancel(): void {
    this.#press(0);
  }

  /** Presses and releases a button that the browser does not report. */
  tap(button: number): void {
    for (const d of [1, 0] as const) this.#send({ t: "btn", b: button, d });
  }

  /** Forgets the position when the pointer leaves the picture: it may come back elsewhere. */
  leave(): void {
    this.#position = undefined;
  }

  /**
   * Presses the held buttons again at the current position after the streamer released them. It may have
   * missed the last movements, too.
   */
  pressAgain(): void {
    const [held, position] = [this.#buttons, this.#position];
    this.#buttons = 0;
    this.#position = undefined;
    if (held === 0) return;
    if (position !== undefined) this.#sendPosition(position);
    this.#press(held);
  }

  /** Forgets the held buttons and the position after a `release` message. */
  reset(): void {
    this.#buttons = 0;
    this.#ofPage = 0;
    this.#restX = 0;
    this.#restY = 0;
    this.#position = undefined;
  }

  #moveTo({ clientX, clientY }: PointerSample): void {
    const position = toPointerCoordinates({ x: clientX, y: clientY }, this.#options.area());
    if (position.x !== this.#position?.x || position.y !== this.#position.y) this.#sendPosition(position);
  }

  #sendPosition(position: Position): void {
    this.#send({ t: "move", ...position, ...(this.#position === undefined ? { e: 1 } : {}) });
    this.#position = position;
  }

  /**
   * One step of the mouse is one pixel of the game, whatever the size of the picture, as in games without a
   * stream. Distances are whole; the remaining fraction is added to the next movement.
   */
  #moveBy({ movementX, movementY }: PointerSample): void {
    this.#position = undefined;
    const unit = this.#options.movementUnit();
    const x = movementX * unit + this.#restX;
    const y = movementY * unit + this.#restY;
    this.#restX = x - Math.trunc(x);
    this.#restY = y - Math.trunc(y);
    const message = { t: "rel", x: clamp(Math.trunc(x)), y: clamp(Math.trunc(y)) } as const;
    if (message.x !== 0 || message.y !== 0) this.#send(message);
  }

  #press(buttons: number): void {
    const changed = buttons ^ this.#buttons;
    this.#buttons = buttons;
    buttonBits.forEach((bit, button) => {
      if ((changed & bit) !== 0) this.#send({ t: "btn", b: button, d: (buttons & bit) === 0 ? 0 : 1 });
    });
  }
}

/**
 * Returns the size of the unit of `movementX` and `movementY` in steps of the mouse. Firefox reports CSS
 * pixels, which change with the zoom; others report what the system reports.
 */
export function movementUnitOf(userAgent: string, devicePixelRatio: number): number {
  return userAgent.includes("Firefox/") ? devicePixelRatio : 1;
}

function clamp(distance: number): number {
  // Adding zero turns -0 into 0.
  return Math.min(maxDistance, Math.max(-maxDistance, distance)) + 0;
}

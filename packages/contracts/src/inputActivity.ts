import { stickScale, triggerScale, type StreamInput } from "./stream.ts";

/** A stick or trigger within this share of its range from where it was last used is at rest. */
const deadZone = 0.25;

type PadState = Extract<StreamInput, { t: "pad" }>;
type Position = Pick<Extract<StreamInput, { t: "move" }>, "x" | "y">;

/**
 * Distinguishes what a player does from what a page and its devices repeat on their own. Worn sticks are
 * never at rest, and browsers report the position of a resting pointer again when the page changes.
 */
export class InputActivity {
  /** The last position at which each gamepad's state counted. */
  readonly #pads = new Map<number, PadState>();
  #pointer: Position | undefined;

  /** Returns whether the message shows that somebody plays. */
  isAction(input: StreamInput): boolean {
    switch (input.t) {
      case "key":
      case "text":
      case "rel":
      case "btn":
      case "wheel":
        return true;
      case "move":
        return this.#hasMoved(input);
      case "pad":
        return this.#isUsed(input);
      case "unplug":
        this.#pads.delete(input.i);
        return false;
      case "held":
      case "locks":
      case "release":
      case "ping":
      case "quality":
        return false;
    }
  }

  #hasMoved({ x, y }: Position): boolean {
    const last = this.#pointer;
    this.#pointer = { x, y };
    return last?.x !== x || last.y !== y;
  }

  #isUsed(state: PadState): boolean {
    const last = this.#pads.get(state.i ?? 0);
    const isUsed =
      state.b !== (last?.b ?? 0) ||
      state.s.some((value, axis) => isBeyond(value, last?.s[axis] ?? 0, stickScale)) ||
      isBeyond(state.l, last?.l ?? 0, triggerScale) ||
      isBeyond(state.r, last?.r ?? 0, triggerScale);
    if (isUsed) this.#pads.set(state.i ?? 0, state);
    return isUsed;
  }
}

function isBeyond(value: number, last: number, scale: number): boolean {
  return Math.abs(value - last) > deadZone * scale;
}

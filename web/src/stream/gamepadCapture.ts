import type { z } from "zod";
import { stickScale, triggerScale, type PadInput, type StreamInput } from "#contracts/stream.ts";

type PadMessage = z.infer<typeof PadInput>;

/** Button numbers in the browser's standard mapping. The button bits exclude the two triggers. */
const leftTrigger = 6;
const rightTrigger = 7;
/** Sticks at rest report small values. Games have a larger dead zone. */
const noise = 0.02;

/** The fields of Gamepad that are read. */
export interface PadSample {
  readonly index: number;
  /**
   * Any mapping except "standard" has another order of sticks and buttons: wheels, pedals, and gamepads that
   * the browser does not know.
   */
  readonly mapping: string;
  readonly axes: readonly number[];
  readonly buttons: readonly { readonly pressed: boolean; readonly value: number }[];
}

/**
 * Sends the changes of the one gamepad that the player uses: the first that moved, until it is unplugged. A
 * button that is pressed from the start counts, because browsers show a gamepad only after its first press. A
 * stick does not, because worn sticks are never at rest.
 */
export class GamepadCapture {
  readonly #send: (message: StreamInput) => void;
  readonly #idle = new Map<number, string>();
  #active: number | undefined;
  #last = "";

  constructor(send: (message: StreamInput) => void) {
    this.#send = send;
  }

  /** Called once per frame with the result of `navigator.getGamepads()`. */
  sample(pads: readonly (PadSample | null)[]): void {
    const connected = pads.filter((pad) => pad !== null).filter(({ mapping }) => mapping === "standard");
    const pad = connected.find(({ index }) => index === this.#active) ?? this.#findMoved(connected);
    if (pad !== undefined) this.#sendChange(padMessage(pad));
  }

  /** Forgets the last state after everything was released, so that the next sample is sent in any case. */
  reset(): void {
    this.#last = "";
  }

  #findMoved(pads: readonly PadSample[]): PadSample | undefined {
    if (this.#active !== undefined) this.#loseActive();
    const moved = pads.find((pad) => {
      const text = JSON.stringify(padMessage(pad));
      const before = this.#idle.get(pad.index);
      this.#idle.set(pad.index, text);
      return before === undefined ? pad.buttons.some(({ pressed }) => pressed) : before !== text;
    });
    this.#active = moved?.index;
    return moved;
  }

  /** The player may continue with keyboard and mouse, whose keys and buttons stay pressed. */
  #loseActive(): void {
    this.#active = undefined;
    this.#idle.clear();
    this.#sendChange(atRest);
  }

  #sendChange(message: PadMessage): void {
    const text = JSON.stringify(message);
    if (text === this.#last) return;
    this.#last = text;
    this.#send(message);
  }
}

const atRest = padMessage({ axes: [], buttons: [] });

/** Returns the whole state of a gamepad as one message. */
export function padMessage({ axes, buttons }: Pick<PadSample, "axes" | "buttons">): PadMessage {
  const stick = (axis: number): number => scaled(axes[axis] ?? 0);
  const trigger = (button: number): number =>
    Math.round(Math.min(1, Math.max(0, buttons[button]?.value ?? 0)) * triggerScale);
  return {
    t: "pad",
    s: [stick(0), stick(1), stick(2), stick(3)],
    l: trigger(leftTrigger),
    r: trigger(rightTrigger),
    b: buttonBits(buttons),
  };
}

function buttonBits(buttons: PadSample["buttons"]): number {
  const withoutTriggers = buttons
    .filter((_button, place) => place !== leftTrigger && place !== rightTrigger)
    .slice(0, 15);
  return withoutTriggers.reduce((bits, { pressed }, place) => (pressed ? bits | (1 << place) : bits), 0);
}

function scaled(value: number): number {
  if (!Number.isFinite(value) || Math.abs(value) < noise) return 0;
  return Math.round(Math.min(1, Math.max(-1, value)) * stickScale);
}

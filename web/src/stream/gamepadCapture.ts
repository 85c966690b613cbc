import type { z } from "zod";
import { maxGamepads, stickScale, triggerScale, type PadInput, type StreamInput } from "#contracts/stream.ts";
import { PadReader, type PadSample, type StandardSample } from "./gamepadLayouts.ts";

type PadMessage = z.infer<typeof PadInput>;

/** Button numbers in the browser's standard mapping. The button bits exclude the two triggers. */
const leftTrigger = 6;
const rightTrigger = 7;
/** Sticks at rest report small values. Games have a larger dead zone. */
const noise = 0.02;
/** A stick that moves this far is used by the player and not worn. */
const intended = 0.25;

/** A gamepad with an unknown layout. */
export interface UnknownGamepad {
  /** Name of the device. */
  name: string;
  /** Whether it is sent to the game with a guessed layout. */
  isUsed: boolean;
}

/** A connected gamepad. */
interface TrackedPad {
  id: string;
  reader: PadReader;
  /** The first state, to recognize that the player uses the gamepad. */
  first: StandardSample;
  /** The game's gamepad; undefined until the player uses it. */
  slot: number | undefined;
  last: string;
}

/**
 * Sends the changes of up to four gamepads, each from the moment when the player uses it until it is
 * unplugged. A button that is pressed from the start counts, because browsers show a gamepad only after its
 * first press. A stick does not, because worn sticks are never at rest.
 */
export class GamepadCapture {
  readonly #send: (message: StreamInput) => void;
  readonly #onUnknown: (gamepad: UnknownGamepad) => void;
  readonly #pads = new Map<number, TrackedPad>();
  /** Devices that were reported as unknown, by id. */
  readonly #reported = new Set<string>();

  constructor(send: (message: StreamInput) => void, onUnknown: (gamepad: UnknownGamepad) => void) {
    this.#send = send;
    this.#onUnknown = onUnknown;
  }

  /** Called once per frame with the result of `navigator.getGamepads()`. */
  sample(pads: readonly (PadSample | null)[]): void {
    const connected = pads.filter((pad) => pad !== null);
    for (const [index, { id }] of this.#pads)
      if (!connected.some((pad) => pad.index === index && pad.id === id)) this.#remove(index);
    for (const pad of connected) this.#update(pad);
  }

  /** Forgets the last states after everything was released, so that the next samples are sent in any case. */
  reset(): void {
    for (const pad of this.#pads.values()) pad.last = "";
  }

  /** Returns the browser's index of one of the game's gamepads. */
  indexOf(slot: number): number | undefined {
    return [...this.#pads].find(([, pad]) => pad.slot === slot)?.[0];
  }

  #update(pad: PadSample): void {
    const reader = this.#pads.get(pad.index)?.reader ?? new PadReader();
    const sample = reader.read(pad);
    if (sample === undefined) {
      if (pad.buttons.some(({ pressed }) => pressed)) this.#report(pad, false);
      return;
    }
    const tracked = this.#pads.get(pad.index) ?? {
      id: pad.id,
      reader,
      first: { axes: [...sample.axes], buttons: [] },
      slot: undefined,
      last: "",
    };
    this.#pads.set(pad.index, tracked);
    if (tracked.slot === undefined && isUsed(sample, tracked.first)) {
      tracked.slot = this.#freeSlot(pad.index);
      if (pad.mapping !== "standard") this.#report(pad, tracked.slot !== undefined);
    }
    if (tracked.slot === undefined) return;
    const message = padMessage(sample, tracked.slot);
    const text = JSON.stringify(message);
    if (text === tracked.last) return;
    tracked.last = text;
    this.#send(message);
  }

  /** The browser's index stays the same when the page is loaded again, so the game's pads do not change. */
  #freeSlot(index: number): number | undefined {
    const taken = new Set([...this.#pads.values()].map(({ slot }) => slot));
    const all = Array.from({ length: maxGamepads }, (_slot, place) => place);
    return [index, ...all].find((slot) => slot < maxGamepads && !taken.has(slot));
  }

  #remove(index: number): void {
    const slot = this.#pads.get(index)?.slot;
    this.#pads.delete(index);
    if (slot === undefined) return;
    // Streamers of earlier versions know only states.
    this.#send(padMessage(atRest, slot));
    this.#send({ t: "unplug", i: slot });
  }

  #report({ id }: PadSample, isUsed: boolean): void {
    if (this.#reported.has(id)) return;
    this.#reported.add(id);
    this.#onUnknown({ name: nameOf(id), isUsed });
  }
}

const atRest: StandardSample = { axes: [], buttons: [] };

/** Returns a gamepad's name from its id in Chromium's or Firefox's format. */
function nameOf(id: string): string {
  const name = id
    .replace(/\s*\((STANDARD GAMEPAD )?Vendor: .*\)$/i, "")
    .replace(/^[0-9a-f]{1,4}-[0-9a-f]{1,4}-/i, "")
    .trim();
  return (name === "" ? id : name).slice(0, 80);
}

function isUsed({ axes, buttons }: StandardSample, first: StandardSample): boolean {
  return (
    buttons.some(({ pressed, value }) => pressed || value > intended) ||
    axes.slice(0, 4).some((value, axis) => Math.abs(value - (first.axes[axis] ?? 0)) > intended)
  );
}

/** Returns the whole state of a gamepad as one message. */
export function padMessage({ axes, buttons }: StandardSample, slot: number): PadMessage {
  const stick = (axis: number): number => scaled(axes[axis] ?? 0);
  const trigger = (button: number): number =>
    Math.round(Math.min(1, Math.max(0, buttons[button]?.value ?? 0)) * triggerScale);
  return {
    t: "pad",
    i: slot,
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

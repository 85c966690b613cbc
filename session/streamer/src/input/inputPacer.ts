import type { Clock, Timer } from "#runtime/scheduling/clock.ts";
import { gamepadButtons, type StreamInput } from "#contracts/stream.ts";
import { keyCodeOf } from "./keyCodes.ts";

/**
 * Minimum time for which a key or button keeps its state. Many games poll once a frame, slow ones 20 times a
 * second; they would miss a tap whose press and release arrive together.
 */
const minimumMs = { pressed: 50, released: 20 };
/** A longer queue was caused by a delay elsewhere and is applied immediately. */
const maxQueued = 64;

/** Input that reaches the game. */
export type GameInput = Exclude<StreamInput, { t: "ping" | "release" | "quality" }>;

export interface InputPacerOptions {
  apply: (input: GameInput) => void;
  /** Returns the monotonic time before which an input must not be applied. */
  earliestMs: (input: GameInput) => number;
  clock: Pick<Clock, "monotonicMs" | "setTimer">;
}

/** Applies input in order and keeps each press long enough for the game to see it. */
export interface InputPacer {
  push(input: GameInput): void;
  /** Discards queued input and key states. Call it after everything was released. */
  reset(): void;
}

export function createInputPacer({ apply, earliestMs, clock }: InputPacerOptions): InputPacer {
  const switches = new Map<string, { isDown: boolean; since: number }>();
  let queue: GameInput[] = [];
  let timer: Timer | undefined;

  const waitMs = (input: GameInput): number =>
    Math.max(
      0,
      earliestMs(input) - clock.monotonicMs(),
      ...listSwitches(input).map(([name, isDown]) => {
        const last = switches.get(name);
        if (last === undefined || last.isDown === isDown) return 0;
        return last.since + (last.isDown ? minimumMs.pressed : minimumMs.released) - clock.monotonicMs();
      }),
    );
  const applyNow = (input: GameInput) => {
    for (const [name, isDown] of input.t === "held" ? listHeld(input, switches.keys()) : listSwitches(input))
      if ((switches.get(name)?.isDown ?? false) !== isDown)
        switches.set(name, { isDown, since: clock.monotonicMs() });
    apply(input);
  };
  const drain = () => {
    timer?.cancel();
    timer = undefined;
    const isFull = queue.length > maxQueued;
    for (let next = queue[0]; next !== undefined; next = queue[0]) {
      const ms = isFull ? 0 : waitMs(next);
      if (ms > 0) {
        timer = clock.setTimer(Math.ceil(ms), drain);
        return;
      }
      queue.shift();
      applyNow(next);
    }
  };
  return {
    push(input) {
      queue.push(input);
      if (queue.length === 1 || queue.length > maxQueued) drain();
    },
    reset() {
      timer?.cancel();
      timer = undefined;
      queue = [];
      switches.clear();
    },
  };
}

/**
 * Returns the state of all keys and mouse buttons, known or held. It needs no pause: in a browser that works
 * it repeats what the messages before it said.
 */
function listHeld(
  { k, b }: Extract<GameInput, { t: "held" }>,
  known: Iterable<string>,
): [name: string, isDown: boolean][] {
  const held = new Set([
    ...k.map((code) => `key ${keyCodeOf(code)}`),
    ...[1, 4, 2, 8, 16].flatMap((bit, button) => ((b & bit) === 0 ? [] : [`button ${button}`])),
  ]);
  const names = [...known].filter((name) => name.startsWith("key ") || name.startsWith("button "));
  return [...new Set([...names, ...held])].map((name) => [name, held.has(name)]);
}

/** Returns the keys and buttons in a message by name, and whether they are down. */
function listSwitches(input: GameInput): [name: string, isDown: boolean][] {
  switch (input.t) {
    case "key": {
      const keyCode = keyCodeOf(input.c);
      return keyCode === undefined ? [] : [[`key ${keyCode}`, input.d === 1]];
    }
    case "btn":
      return [[`button ${input.b}`, input.d === 1]];
    case "pad":
      return gamepadButtons.map((name, place) => [`${input.i ?? 0} ${name}`, ((input.b >> place) & 1) === 1]);
    default:
      return [];
  }
}

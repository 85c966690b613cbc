import { gamepadButtons, type StreamInput } from "#contracts/stream.ts";
import { keyCodeOf } from "./keyCodes.ts";

/**
 * How long a key or button stays as it is at least. Many games look once a picture which are pressed, slow ones 20 times a
 * second: a tap that the network hands over in one moment, press and release, would never have been.
 */
const shortestMs = { pressed: 50, released: 20 };
/** More than this has piled up somewhere else: it is applied at once, as it came. */
const maxWaiting = 64;

/** What a game hears of. */
export type GameInput = Exclude<StreamInput, { t: "ping" | "release" }>;

export interface InputPacerOptions {
  apply: (input: GameInput) => void;
  /** Monotonic, in milliseconds. */
  now: () => number;
  /** Calls back after so many milliseconds, until the given function is called. */
  schedule: (ms: number, callback: () => void) => () => void;
}

/** Applies input in its order, each press long enough for a game to see it. */
export interface InputPacer {
  push(input: GameInput): void;
  /** Forgets what waits and what is held, for all of it was let go of. */
  reset(): void;
}

export function createInputPacer({ apply, now, schedule }: InputPacerOptions): InputPacer {
  const switches = new Map<string, { isDown: boolean; since: number }>();
  let waiting: GameInput[] = [];
  let cancelTimer: (() => void) | undefined;

  const waitMs = (input: GameInput): number => Math.max(0, ...switchesOf(input).map(([name, isDown]) => {
    const last = switches.get(name);
    if (last === undefined || last.isDown === isDown) return 0;
    return last.since + (last.isDown ? shortestMs.pressed : shortestMs.released) - now();
  }));
  const pass = (input: GameInput) => {
    for (const [name, isDown] of switchesOf(input)) {
      if ((switches.get(name)?.isDown ?? false) !== isDown) switches.set(name, { isDown, since: now() });
    }
    apply(input);
  };
  const drain = () => {
    cancelTimer?.();
    cancelTimer = undefined;
    const isFull = waiting.length > maxWaiting;
    for (let next = waiting[0]; next !== undefined; next = waiting[0]) {
      const ms = isFull ? 0 : waitMs(next);
      if (ms > 0) {
        cancelTimer = schedule(Math.ceil(ms), drain);
        return;
      }
      waiting.shift();
      pass(next);
    }
  };
  return {
    push(input) {
      waiting.push(input);
      if (waiting.length === 1 || waiting.length > maxWaiting) drain();
    },
    reset() {
      cancelTimer?.();
      cancelTimer = undefined;
      waiting = [];
      switches.clear();
    },
  };
}

/** The keys and buttons that a message tells of, by name, and whether they are down. */
function switchesOf(input: GameInput): [name: string, isDown: boolean][] {
  switch (input.t) {
    case "key": {
      const keyCode = keyCodeOf(input.c);
      return keyCode === undefined ? [] : [[`key ${keyCode}`, input.d === 1]];
    }
    case "btn": return [[`button ${input.b}`, input.d === 1]];
    case "pad": return gamepadButtons.map((name, place) => [name, (input.b >> place & 1) === 1]);
    default: return [];
  }
}

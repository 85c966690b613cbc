import type { Clock, Timer } from "#runtime/scheduling/clock.ts";

const returnKey = 36;
const tabKey = 23;
/** Time between the press of a character's key and its release, and until the next press. */
const characterMs = 3;
/** Games may poll Return and Tab once a frame. */
const controlMs = 50;
/** Pause until a spare key is free again. */
const retryMs = 20;
/** Longer text is cut. */
const maxQueued = 4_096;

/** Types text into the game, character by character. */
export interface Typist {
  type(text: string): void;
  /** Runs the action once the text so far is typed: at once if there is none. */
  after(action: () => void): void;
  /** Drops the text that is not typed yet, and runs the actions. */
  clear(): void;
}

export interface TypistOptions {
  clock: Pick<Clock, "setTimer">;
  /** Returns a key that types the character; undefined while there is none. */
  keyFor: (character: string) => number | undefined;
  press: (keyCode: number, isDown: boolean) => void;
  /** Releases the modifiers that would change the text. Returns the function that presses them again. */
  liftModifiers: () => () => void;
}

type Step = { character: string } | { action: () => void };

export function createTypist({ clock, keyFor, press, liftModifiers }: TypistOptions): Typist {
  let steps: Step[] = [];
  let timer: Timer | undefined;
  let pressed: number | undefined;
  let pressAgain: (() => void) | undefined;

  const release = () => {
    if (pressed !== undefined) press(pressed, false);
    pressed = undefined;
  };
  const finish = () => {
    pressAgain?.();
    pressAgain = undefined;
  };
  const wait = (ms: number, then: () => void) => {
    timer = clock.setTimer(ms, () => {
      timer = undefined;
      then();
    });
  };
  const proceed = () => {
    for (let step = steps[0]; step !== undefined; step = steps[0]) {
      if ("action" in step) {
        finish();
        steps.shift();
        step.action();
        continue;
      }
      pressAgain ??= liftModifiers();
      const isControl = step.character === "\n" || step.character === "\t";
      const keyCode = isControl ? (step.character === "\n" ? returnKey : tabKey) : keyFor(step.character);
      if (keyCode === undefined) {
        wait(retryMs, proceed);
        return;
      }
      steps.shift();
      pressed = keyCode;
      press(keyCode, true);
      const ms = isControl ? controlMs : characterMs;
      wait(ms, () => {
        release();
        wait(ms, proceed);
      });
      return;
    }
    finish();
  };
  const isIdle = () => timer === undefined && steps.length === 0;
  return {
    type(text) {
      const wasIdle = isIdle();
      const characters = Array.from(text.replace(/\r\n?/g, "\n")).filter(isTypeable);
      for (const character of characters.slice(0, Math.max(0, maxQueued - steps.length)))
        steps.push({ character });
      if (wasIdle) proceed();
    },
    after(action) {
      if (isIdle()) action();
      else steps.push({ action });
    },
    clear() {
      timer?.cancel();
      timer = undefined;
      const left = steps;
      steps = [];
      release();
      finish();
      for (const step of left) if ("action" in step) step.action();
    },
  };
}

/** Returns whether the character is Return, Tab, or no control character. */
function isTypeable(character: string): boolean {
  return character === "\n" || character === "\t" || !/\p{Cc}/u.test(character);
}

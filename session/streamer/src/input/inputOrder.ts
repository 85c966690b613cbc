import type { PointerState } from "x11";
import type { Point } from "./gamePointer.ts";

/**
 * Input that waits for the state of the display, at most. More of it was caused by a game that grabbed the
 * server.
 */
const maxWaiting = 256;

/** A position in the picture; see MoveInput for `isEntry`. */
export type Target = Point & { isEntry: boolean };

/** Takes the state of the display; undefined if the display does not answer. */
type Take = (state: PointerState | undefined) => void;

interface Action {
  run: () => void;
  /** Runs it although the display does not answer. Absent for what is dropped then. */
  runBlindly?: () => void;
  target?: Target;
}

/** Keeps input in order while some of it waits for the state of the display. */
export interface InputOrder {
  run(action: () => void): void;
  /** Runs `take` with the present state of pointer and modifiers. */
  ask(take: Take): void;
  /** Like `ask`, but merges movements that wait, and drops them if the display does not answer. */
  move(target: Target, take: (target: Target, state: PointerState) => void): void;
}

/** Returns an empty order. `query` passes the state, or undefined if there is none. */
export function createInputOrder(query: (take: Take) => void): InputOrder {
  let waiting: Action[] = [];
  let question = 0;
  let isAsking = false;

  const proceed = () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      next.run();
      if (isAsking) return;
    }
  };
  const askFor = (take: Take) => () => {
    isAsking = true;
    const current = ++question;
    query((state) => {
      if (current !== question) return;
      isAsking = false;
      take(state);
      proceed();
    });
  };
  const enqueue = (action: Action) => {
    waiting.push(action);
    if (!isAsking) proceed();
    if (waiting.length <= maxWaiting) return;
    // The display does not answer: keys and buttons go on without the movements.
    question++;
    isAsking = false;
    const left = waiting;
    waiting = [];
    for (const { runBlindly } of left) runBlindly?.();
  };
  return {
    run: (run) => enqueue({ run, runBlindly: run }),
    ask: (take) => enqueue({ run: askFor(take), runBlindly: () => take(undefined) }),
    move(target, take) {
      const last = waiting.at(-1)?.target;
      if (last && !target.isEntry) {
        Object.assign(last, { x: target.x, y: target.y });
        return;
      }
      enqueue({
        target,
        run: askFor((state) => {
          if (state) take(target, state);
        }),
      });
    },
  };
}

import type { Point } from "./gamePointer.ts";

/**
 * Input that waits for the pointer's position, at most. More of it was caused by a game that grabbed the
 * server.
 */
const maxWaiting = 256;

type Target = Point & { isEntry: boolean };

/** Keeps input in order while a movement waits for the server's reply. */
export interface InputOrder {
  run(action: () => void): void;
  /** Runs `start`, which calls `done` when what follows may run. Merges movements that wait. */
  move(target: Target, start: (target: Target, done: () => void) => void): void;
}

/** Returns an empty order. */
export function createInputOrder(): InputOrder {
  let waiting: { target?: Target; run: () => void }[] = [];
  let movement = 0;
  let isMoving = false;

  const proceed = () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      next.run();
      if (isMoving) return;
    }
  };
  const enqueue = (action: { target?: Target; run: () => void }) => {
    waiting.push(action);
    if (!isMoving) proceed();
    if (waiting.length <= maxWaiting) return;
    // The server does not answer: keys and buttons go on without the movements.
    movement++;
    isMoving = false;
    const others = waiting.filter(({ target }) => target === undefined);
    waiting = [];
    for (const other of others) other.run();
  };
  return {
    run: (run) => enqueue({ run }),
    move(target, start) {
      const last = waiting.at(-1)?.target;
      if (last && !target.isEntry) {
        Object.assign(last, { x: target.x, y: target.y });
        return;
      }
      enqueue({
        target,
        run: () => {
          isMoving = true;
          const current = ++movement;
          start(target, () => {
            if (current !== movement) return;
            isMoving = false;
            proceed();
          });
        },
      });
    },
  };
}

import { unavailable } from "../errors.ts";

export interface TurnstileRules {
  atOnce: number;
  waitingMax: number;
  deadlineMs: number;
}

/** Lets so much work in at once; the rest waits, first come, first served. Who finds too many waiting, or waits too long, is refused with 503. */
export class Turnstile {
  readonly #rules: TurnstileRules;
  readonly #waiting = new Set<() => void>();
  #inside = 0;

  constructor(rules: TurnstileRules) {
    this.#rules = rules;
  }

  async pass<T>(work: () => Promise<T>): Promise<T> {
    if (this.#inside < this.#rules.atOnce) this.#inside += 1;
    else await this.#turn();
    try {
      return await work();
    } finally {
      this.#leave();
    }
  }

  /** Resolves with the place of one who left. */
  async #turn(): Promise<void> {
    if (this.#waiting.size >= this.#rules.waitingMax) throw tooManySignIns();
    const turn = Promise.withResolvers<undefined>();
    const enter = (): void => turn.resolve(undefined);
    this.#waiting.add(enter);
    const timer = setTimeout(() => {
      if (this.#waiting.delete(enter)) turn.reject(tooManySignIns());
    }, this.#rules.deadlineMs);
    try {
      await turn.promise;
    } finally {
      clearTimeout(timer);
    }
  }

  #leave(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#inside -= 1;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}

/** 503: whoever asks again in a moment is let in. */
export function tooManySignIns(): Error {
  return unavailable("Too many sign-ins at once: try again in a moment.", undefined, 2);
}

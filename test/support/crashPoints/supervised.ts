import { eventually } from "../clocks/eventually.ts";

/** A program that can be stopped and started. */
export interface Startable {
  start(): Promise<void>;
  stop(signal?: NodeJS.Signals): Promise<void>;
  signal(signal: NodeJS.Signals): void;
  readonly hasEnded: boolean;
}

const lookMs = 25;
/** Maximum number of starts: a program may be killed while it starts, but one that never starts is broken. */
const startsMax = 4;

/** Restarts a program whenever it exits, like the kubelet. */
export class Supervised {
  readonly #program: Startable;
  readonly #name: string;
  #starting: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #failures: unknown[] = [];

  constructor(name: string, program: Startable) {
    this.#name = name;
    this.#program = program;
  }

  /** Starts supervising the running program. */
  watch(): void {
    this.#timer = setInterval(() => {
      if (this.#starting !== undefined || !this.#program.hasEnded) return;
      this.#starting = this.#program
        .start()
        .then(
          () => void (this.#failures = []),
          (error: unknown) => void this.#failures.push(error),
        )
        .finally(() => void (this.#starting = undefined));
    }, lookMs);
  }

  /** Kills it. Resolves when it is dead; it is restarted immediately. */
  kill(): Promise<void> {
    return this.#program.stop("SIGKILL");
  }

  signal(signal: NodeJS.Signals): void {
    this.#program.signal(signal);
  }

  /** Resolves when it is running and ready. */
  async awaitStart(): Promise<void> {
    await eventually(
      () => this.#failures.length >= startsMax || (this.#starting === undefined && !this.#program.hasEnded),
      { timeoutMs: 60_000, what: `${this.#name} to run` },
    );
    if (this.#failures.length >= startsMax)
      throw new Error(`${this.#name} does not start again.`, { cause: this.#failures.at(-1) });
  }

  /** Stops it without restarting it. */
  async end(): Promise<void> {
    clearInterval(this.#timer);
    await this.#starting;
    await this.#program.stop("SIGKILL");
  }
}

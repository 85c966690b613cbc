/** A program whose writes are swept. */
export type Program = "api" | "operator" | "nodeAgent";

/** Where a program writes. */
export type Store = "cluster" | "database" | "object store" | "redis";

/** A write as it comes in at one of the gates. */
export interface Write {
  program: Program;
  store: Store;
  /** What is written, such as `PATCH gamesessions/status`. */
  what: string;
}

/** What may happen around one write. */
export type FaultMode =
  /** The program is killed; the write never arrives. */
  | "killed before"
  /** The write is carried out, and the program killed before it hears so. */
  | "killed after"
  /** The store refuses and changes nothing. */
  | "refused"
  /** The write is carried out, and the connection breaks before the response comes. */
  | "response lost"
  /**
   * A proxy on the way sends the request twice, as they do after a broken connection; the program hears the
   * second response. HTTP alone has such proxies.
   */
  | "duplicated"
  /**
   * The program is frozen with the write on its way until its lease has passed to another; then the write
   * arrives, and the program goes on.
   */
  | "frozen";

/** The one write that a fault strikes: the nth of its kind since the gates were armed. */
export interface CrashPoint extends Write {
  nth: number;
  mode: FaultMode;
  /** Not each life brings it. */
  isRare?: boolean;
}

/** What the gate does to the program at its crash point. */
export interface Executioner {
  /** Resolves when the program is dead; whoever calls it sees to its next start. */
  kill(program: Program): Promise<void>;
  /** Freezes the program; resolves when whatever it held by a lease is another's. */
  freeze(program: Program): Promise<void>;
  wake(program: Program): void;
}

/** How a gate lets its write through, or does not. */
export interface Passage<T> {
  /** Carries the write out and returns the response. */
  apply: () => Promise<T>;
  reply: (response: T) => void;
  /** Responds that the store failed, without having asked it. */
  refuse: () => void;
  /** Breaks the connection. */
  cut: () => void;
}

/** A write that has arrived. */
export interface Arrival {
  /** Its number among those of its kind. */
  nth: number;
  /** Set when it is the one that the fault strikes. */
  mode: FaultMode | undefined;
  /** Called with whether the write has changed anything. */
  settle(isEffective: boolean): void;
}

/** A kind of write, and how often it came. */
export interface WriteCount extends Write {
  /** Numbers of those that changed something. */
  effective: number[];
}

/** Numbers the writes of all programs of one platform, and says which one is struck. */
export class Gate {
  readonly #executioner: Executioner;
  #counts = new Map<string, WriteCount & { arrived: number }>();
  #point: CrashPoint | undefined;
  #struck = false;
  #failure: unknown;
  #carryingOut: Promise<unknown> = Promise.resolve();

  constructor(executioner: Executioner) {
    this.#executioner = executioner;
  }

  /** Counts anew, and strikes at this point; without one nothing is struck. */
  arm(point?: CrashPoint): void {
    this.#counts = new Map();
    this.#point = point;
    this.#struck = false;
    this.#failure = undefined;
  }

  /** Strikes no more. */
  disarm(): void {
    this.#point = undefined;
  }

  /** Whether the crash point was come to. */
  get hasStruck(): boolean {
    return this.#struck;
  }

  /** Why nobody took over from the program that was to be frozen; undefined when somebody did. */
  get failure(): unknown {
    return this.#failure;
  }

  /** All writes since the gate was armed, by kind. */
  counts(): WriteCount[] {
    return [...this.#counts.values()].map(({ program, store, what, effective }) => ({
      program,
      store,
      what,
      effective: effective.toSorted((a, b) => a - b),
    }));
  }

  /** Called by the gates with each write, before it is passed on. */
  arrive(write: Write): Arrival {
    const key = keyOf(write);
    const count = this.#counts.get(key) ?? { ...write, arrived: 0, effective: [] };
    this.#counts.set(key, count);
    const nth = (count.arrived += 1);
    const isPoint =
      this.#point !== undefined && !this.#struck && keyOf(this.#point) === key && this.#point.nth === nth;
    if (isPoint) this.#struck = true;
    return {
      nth,
      mode: isPoint ? this.#point?.mode : undefined,
      settle: (isEffective) => {
        if (isEffective) count.effective.push(nth);
      },
    };
  }

  /** Resolves when the fault is over: a frozen program goes on. */
  async over(): Promise<void> {
    await this.#carryingOut.catch(() => undefined);
  }

  /** Lets the fault happen to a write that is struck. */
  carryOut<T>(program: Program, mode: FaultMode, passage: Passage<T>): Promise<void> {
    const carriedOut = this.#carryOut(program, mode, passage);
    this.#carryingOut = carriedOut;
    return carriedOut;
  }

  async #carryOut<T>(
    program: Program,
    mode: FaultMode,
    { apply, reply, refuse, cut }: Passage<T>,
  ): Promise<void> {
    switch (mode) {
      case "killed before":
        await this.#executioner.kill(program);
        cut();
        break;
      case "killed after":
        await apply();
        await this.#executioner.kill(program);
        cut();
        break;
      case "refused":
        refuse();
        break;
      case "response lost":
        await apply();
        cut();
        break;
      case "duplicated":
        await apply();
        reply(await apply());
        break;
      case "frozen":
        try {
          await this.#executioner.freeze(program).catch((cause: unknown) => {
            this.#failure = cause;
            throw cause;
          });
          reply(await apply());
        } finally {
          this.#executioner.wake(program);
        }
    }
  }
}

function keyOf({ program, store, what }: Write): string {
  return `${program} ${store} ${what}`;
}

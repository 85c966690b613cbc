/** A program whose writes are swept. */
export type Program = "api" | "operator" | "nodeAgent";

/** A store that programs write to. */
export type Store = "cluster" | "database" | "object store" | "redis";

/** A write that arrives at a gate. */
export interface Write {
  program: Program;
  store: Store;
  /** Kind of write, such as `PATCH gamesessions/status`. */
  what: string;
}

/** Faults at a write. */
export type FaultMode =
  /** The program is killed; the write never arrives. */
  | "killed before"
  /** The write is carried out, and the program is killed before it receives the response. */
  | "killed after"
  /** The store rejects the write and changes nothing. */
  | "refused"
  /** The write is carried out, and the connection breaks before the response. */
  | "response lost"
  /**
   * A proxy sends the request twice, as after a broken connection, and the program receives the second
   * response. Only HTTP has such proxies.
   */
  | "duplicated"
  /**
   * The program is frozen with the write in flight until another replica has its lease. Then the write
   * arrives, and the program resumes.
   */
  | "frozen";

/** The write that a fault affects: the nth of its kind since the gates were armed. */
export interface CrashPoint extends Write {
  nth: number;
  mode: FaultMode;
  /** True if the write does not occur in every life. */
  isRare?: boolean;
}

/** Injects faults into the program at its crash point. */
export interface Executioner {
  /** Kills the program. Resolves when it is dead; the caller must restart it. */
  kill(program: Program): Promise<void>;
  /** Freezes the program. Resolves when other replicas hold its leases. */
  freeze(program: Program): Promise<void>;
  wake(program: Program): void;
}

/** How a gate handles a write. */
export interface Passage<T> {
  /** Carries out the write and returns the response. */
  apply: () => Promise<T>;
  reply: (response: T) => void;
  /** Responds with an error of the store without forwarding the write. */
  refuse: () => void;
  /** Closes the connection. */
  cut: () => void;
}

/** A write that has arrived. */
export interface Arrival {
  /** Its number among the writes of its kind. */
  nth: number;
  /** Set if the fault affects this write. */
  mode: FaultMode | undefined;
  /** Reports whether the write has changed anything. */
  settle(isEffective: boolean): void;
}

/** A kind of write, and how often it occurred. */
export interface WriteCount extends Write {
  /** Numbers of the writes that changed something. */
  effective: number[];
}

/** Counts the writes of all programs of a platform, and determines which one the fault affects. */
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

  /** Resets the counts, and injects the fault at this point, if given. */
  arm(point?: CrashPoint): void {
    this.#counts = new Map();
    this.#point = point;
    this.#struck = false;
    this.#failure = undefined;
  }

  /** Injects no more faults. */
  disarm(): void {
    this.#point = undefined;
  }

  /** True if the crash point was reached. */
  get hasStruck(): boolean {
    return this.#struck;
  }

  /** Returns why no replica took over from the frozen program, or undefined if one did. */
  get failure(): unknown {
    return this.#failure;
  }

  /** Returns all writes since the gate was armed, by kind. */
  counts(): WriteCount[] {
    return [...this.#counts.values()].map(({ program, store, what, effective }) => ({
      program,
      store,
      what,
      effective: effective.toSorted((a, b) => a - b),
    }));
  }

  /** Called by the gates for each write before it is forwarded. */
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

  /** Resolves when the fault is over and a frozen program has resumed. */
  async over(): Promise<void> {
    await this.#carryingOut.catch(() => undefined);
  }

  /** Injects the fault into an affected write. */
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

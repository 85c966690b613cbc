import { expect } from "chai";
import { CrashWorld } from "./crashWorld.ts";
import { describeFailure } from "./describeFailure.ts";
import type { LifeEnd } from "./life.ts";
import { watchedLife } from "./watchedLife.ts";
import type { CrashPoint, FaultMode, Program, Store, WriteCount } from "./strike.ts";

/** Lives that are lived at the same time; most of one is waiting. */
const worldsMax = Number(process.env["CRASH_WORLDS"] ?? 3);

/**
 * Lives in one of which a write comes: what is counted comes a little earlier or later, and now and then two
 * writes come as one.
 */
const livesMax = 2;
/** The same of a write that comes with time, every ten seconds: a life lasts one or two. */
const livesToRareMax = 30;

/**
 * All that may happen around a write to each kind of store. Nothing sends the messages of a connection to
 * Postgres or Redis twice.
 */
export const faultModes: Readonly<Record<Store, readonly FaultMode[]>> = {
  cluster: ["killed before", "killed after", "refused", "response lost", "duplicated", "frozen"],
  "object store": ["killed before", "killed after", "refused", "response lost", "duplicated", "frozen"],
  database: ["killed before", "killed after", "refused", "response lost", "frozen"],
  redis: ["killed before", "refused", "response lost"],
};

/**
 * How many writes of one kind a life brings: always so many, or, where that is a matter of timing, from
 * `least` to `most`, of which the first ones are swept.
 */
export type Count = number | { swept: number; least?: number; most: number };

/** Kinds of writes of one program that a life brings, by store. */
export type SweptWrites = Partial<Record<Store, Readonly<Record<string, Count>>>>;

/** Returns how many a life may bring; what is swept it brings, unless the count says otherwise. */
export function boundsOf(count: Count): { swept: number; least: number; most: number } {
  return typeof count === "number"
    ? { swept: count, least: count, most: count }
    : { least: count.swept, ...count };
}

/** Returns the points of these writes, in order. */
export function crashPointsOf(program: Program, writes: SweptWrites): CrashPoint[] {
  return (Object.entries(writes) as [Store, NonNullable<SweptWrites[Store]>][]).flatMap(([store, kinds]) =>
    Object.entries(kinds).flatMap(([what, count]) => {
      const { swept, least } = boundsOf(count);
      return Array.from({ length: swept }, (_, index) => index + 1).flatMap((nth) =>
        faultModes[store].map((mode): CrashPoint => ({
          program,
          store,
          what,
          nth,
          mode,
          isRare: nth > least,
        })),
      );
    }),
  );
}

/** A point as titles have it. */
export function titleOf({ store, what, nth, mode }: CrashPoint): string {
  return `${mode} at ${nth === 1 ? "" : `number ${nth} of `}${what} to the ${store}`;
}

/** Lives with one fault each, several at a time, each in a world that is its own meanwhile. */
export class Sweep {
  readonly #queue: CrashPoint[];
  readonly #outcomes = new Map<CrashPoint, PromiseWithResolvers<undefined>>();
  readonly #sweepers: Promise<void>[] = [];
  readonly #worlds = new Set<CrashWorld>();
  readonly #clean: PromiseWithResolvers<{ end: LifeEnd; writes: WriteCount[] }> = Promise.withResolvers();
  #isStopping = false;

  /** The points are swept in this order, from the first one that is asked for. */
  constructor(points: readonly CrashPoint[]) {
    this.#queue = [...points];
    for (const point of points) {
      const outcome = Promise.withResolvers<undefined>();
      outcome.promise.catch(() => undefined); // The point's test says so.
      this.#outcomes.set(point, outcome);
    }
    this.#clean.promise.catch(() => undefined);
  }

  /** The end and the writes of a life without a fault. */
  get clean(): Promise<{ end: LifeEnd; writes: WriteCount[] }> {
    this.#start();
    return this.#clean.promise;
  }

  /**
   * Resolves when the life with this fault has come to the end of a life without one; rejects with what it
   * came to instead.
   */
  outcomeOf(point: CrashPoint): Promise<undefined> {
    const outcome = this.#outcomes.get(point);
    if (outcome === undefined) throw new Error(`${titleOf(point)} is not swept.`);
    const at = this.#queue.indexOf(point);
    if (at > 0) this.#queue.unshift(...this.#queue.splice(at, 1));
    this.#start();
    return outcome.promise;
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    await Promise.all(this.#sweepers);
    await Promise.all([...this.#worlds].map((world) => world.stop()));
  }

  #start(): void {
    if (this.#sweepers.length > 0) return;
    for (let number = 0; number < worldsMax; number++) this.#sweepers.push(this.#sweep(number === 0));
  }

  async #sweep(isFirst: boolean): Promise<void> {
    let world: CrashWorld | undefined;
    if (isFirst)
      world = await this.#liveClean().catch((error: unknown) => {
        this.#clean.reject(error);
        return undefined;
      });
    for (;;) {
      const point = this.#isStopping ? undefined : this.#queue.shift();
      if (point === undefined) return;
      const outcome = this.#outcomes.get(point);
      try {
        world ??= await this.#open();
        await this.#strike(world, point);
        outcome?.resolve(undefined);
      } catch (error) {
        const reason = `${point.program}, ${titleOf(point)}: ${describeFailure(error)}`;
        // At once: the tests' own report comes at the end of all sweeps, which take half an hour.
        process.stderr.write(`${reason}\n`);
        outcome?.reject(new Error(`${reason}\n${world?.logs() ?? ""}`, { cause: error }));
        // What is left of a life that came to another end must not be taken for the next one's.
        if (world !== undefined) await this.#close(world);
        world = undefined;
      }
    }
  }

  async #liveClean(): Promise<CrashWorld> {
    const world = await this.#open();
    world.gate.arm();
    const end = await watchedLife(world);
    this.#clean.resolve({ end, writes: world.gate.counts() });
    return world;
  }

  async #strike(world: CrashWorld, point: CrashPoint): Promise<void> {
    const { end: expected } = await this.clean;
    for (let lives = point.isRare ? livesToRareMax : livesMax; lives > 0; lives--) {
      world.gate.arm(point);
      const end = await watchedLife(world);
      const { hasStruck, failure } = world.gate;
      await world.recover();
      if (failure !== undefined)
        throw new Error("Nobody took over from the frozen program.", { cause: failure });
      expect(end, "what is left in the end").to.deep.equal(expected);
      if (hasStruck) return;
    }
    throw new Error("The write did not come.");
  }

  async #open(): Promise<CrashWorld> {
    const world = await CrashWorld.start();
    this.#worlds.add(world);
    return world;
  }

  async #close(world: CrashWorld): Promise<void> {
    this.#worlds.delete(world);
    await world.stop();
  }
}

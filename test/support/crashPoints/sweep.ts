import { expect } from "chai";
import { CrashWorld } from "./crashWorld.ts";
import { describeFailure } from "./describeFailure.ts";
import type { LifeEnd } from "./life.ts";
import { watchedLife } from "./watchedLife.ts";
import type { CrashPoint, FaultMode, Program, Store, WriteCount } from "./strike.ts";

/** Concurrent lives, which mostly wait. */
const worldsMax = Number(process.env["CRASH_WORLDS"] ?? 3);

/**
 * Number of lives in one of which a write must occur: timing varies slightly, and sometimes two writes are
 * combined.
 */
const livesMax = 2;
/** The same for a periodic write, every ten seconds, because a life lasts one or two seconds. */
const livesToRareMax = 30;

/** Possible faults for each kind of store. Nothing duplicates messages of Postgres or Redis connections. */
export const faultModes: Readonly<Record<Store, readonly FaultMode[]>> = {
  cluster: ["killed before", "killed after", "refused", "response lost", "duplicated", "frozen"],
  "object store": ["killed before", "killed after", "refused", "response lost", "duplicated", "frozen"],
  database: ["killed before", "killed after", "refused", "response lost", "frozen"],
  redis: ["killed before", "refused", "response lost"],
};

/**
 * Number of writes of a kind in a life: a fixed number, or, if it depends on timing, from `least` to `most`,
 * of which the first `swept` are swept.
 */
export type Count = number | { swept: number; least?: number; most: number };

/** Kinds of writes of a program in a life, by store. */
export type SweptWrites = Partial<Record<Store, Readonly<Record<string, Count>>>>;

/** Returns the bounds of the count. By default, a life has all swept writes. */
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

/** Returns the title of a point. */
export function titleOf({ store, what, nth, mode }: CrashPoint): string {
  return `${mode} at ${nth === 1 ? "" : `number ${nth} of `}${what} to the ${store}`;
}

/** Runs lives with one fault each, several concurrently, each in a separate world. */
export class Sweep {
  readonly #queue: CrashPoint[];
  readonly #outcomes = new Map<CrashPoint, PromiseWithResolvers<undefined>>();
  readonly #sweepers: Promise<void>[] = [];
  readonly #worlds = new Set<CrashWorld>();
  readonly #clean: PromiseWithResolvers<{ end: LifeEnd; writes: WriteCount[] }> = Promise.withResolvers();
  #isStopping = false;

  /** The points are swept in this order, starting with the first requested one. */
  constructor(points: readonly CrashPoint[]) {
    this.#queue = [...points];
    for (const point of points) {
      const outcome = Promise.withResolvers<undefined>();
      outcome.promise.catch(() => undefined); // The point's test says so.
      this.#outcomes.set(point, outcome);
    }
    this.#clean.promise.catch(() => undefined);
  }

  /** The end and the writes of a life without faults. */
  get clean(): Promise<{ end: LifeEnd; writes: WriteCount[] }> {
    this.#start();
    return this.#clean.promise;
  }

  /**
   * Resolves when the life with this fault ends like one without faults. Rejects with the difference
   * otherwise.
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
        // Immediately, because the tests' report is printed after all sweeps, which take half an hour.
        process.stderr.write(`${reason}\n`);
        outcome?.reject(new Error(`${reason}\n${world?.logs() ?? ""}`, { cause: error }));
        // Remains of a life with another end must not affect the next one.
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

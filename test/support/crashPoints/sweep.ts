import { expect } from "chai";
import { InvariantWatch } from "../invariants/invariantWatch.ts";
import { CrashWorld } from "./crashWorld.ts";
import { describeFailure } from "./describeFailure.ts";
import { Life, type LifeEnd } from "./life.ts";
import type { CrashPoint, FaultMode, Program, Store, WriteCount } from "./strike.ts";

/** Lives that are lived at the same time; most of one is waiting. */
const worldsMax = Number(process.env["CRASH_WORLDS"] ?? 3);

/** Between two looks at what has to hold at every moment. */
const lookMs = 250;

/** All that may happen around a write to each kind of store. Nothing sends the messages of a connection to Postgres or Redis twice. */
export const faultModes: Readonly<Record<Store, readonly FaultMode[]>> = {
  "cluster": ["killed before", "killed after", "refused", "response lost", "duplicated", "frozen"],
  "object store": ["killed before", "killed after", "refused", "response lost", "duplicated", "frozen"],
  "database": ["killed before", "killed after", "refused", "response lost", "frozen"],
  "redis": ["killed before", "refused", "response lost"],
};

/** Kinds of writes of one program that a life always brings, by store, and how many of each. */
export type SweptWrites = Partial<Record<Store, Readonly<Record<string, number>>>>;

/** Returns the points of these writes, in order. */
export function crashPointsOf(program: Program, writes: SweptWrites): CrashPoint[] {
  return (Object.entries(writes) as [Store, Readonly<Record<string, number>>][]).flatMap(([store, kinds]) =>
    Object.entries(kinds).flatMap(([what, count]) => Array.from({ length: count }, (_, index) => index + 1)
      .flatMap((nth) => faultModes[store].map((mode): CrashPoint => ({ program, store, what, nth, mode })))));
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

  /** Resolves when the life with this fault has come to the end of a life without one; rejects with what it came to instead. */
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
    if (isFirst) world = await this.#liveClean().catch((error: unknown) => {
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
    const end = await new Life(world).live();
    this.#clean.resolve({ end, writes: world.gate.counts() });
    return world;
  }

  async #strike(world: CrashWorld, point: CrashPoint): Promise<void> {
    const { end: expected } = await this.clean;
    // Twice: what is counted comes a little earlier or later, and now and then two writes come as one.
    for (const isLast of [false, true]) {
      world.gate.arm(point);
      const end = await watchedLife(world);
      const { hasStruck, failure } = world.gate;
      await world.recover();
      if (failure !== undefined) throw new Error("Nobody took over from the frozen program.", { cause: failure });
      expect(end, "what is left in the end").to.deep.equal(expected);
      if (hasStruck) return;
      if (isLast) throw new Error("The write did not come.");
    }
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

/** A life beside which the invariants are looked at. */
async function watchedLife(world: CrashWorld): Promise<LifeEnd> {
  const watch = new InvariantWatch(world.invariants, lookMs);
  watch.start();
  const [lived] = await Promise.allSettled([new Life(world).live()]);
  const [held] = await Promise.allSettled([watch.stop()]);
  const reasons = [lived, held].flatMap((result) => (result.status === "rejected" ? [result.reason as unknown] : []));
  if (lived.status === "fulfilled" && held.status === "fulfilled") return lived.value;
  throw new Error(reasons.map((reason) => (reason instanceof Error ? reason.message : String(reason))).join("\n"), { cause: reasons[0] });
}

import { isNotFound } from "../api/errors.ts";
import type { Intent, KubeObject, Stored } from "../api/object.ts";
import type { ObjectCache } from "../cache/cache.ts";
import type { ApplyOptions } from "../client/request.ts";
import type { ResourceClient } from "../client/resourceClient.ts";
import type { Reconcile, ReconcileContext, ReconcileResult } from "./controller.ts";

/**
 * The result of a step. `done`: the next step runs. `wait`: the pass ends, and a change in the cluster starts
 * the next one. A ReconcileResult also ends the pass, and starts the next one after its delay.
 */
export type StepOutcome = "done" | "wait" | ReconcileResult;

/** A step of a pass. An error fails the pass, which is retried with backoff. */
export type Step<Pass> = (pass: Pass) => StepOutcome | Promise<StepOutcome>;

/** The parts of a reconcile: observe, decide, run the steps, and write the status once. */
export interface ReconcilerParts<World, Plan extends { steps: readonly Name[] }, Name extends string, Pass> {
  /** Reads everything that the decision depends on. Returns undefined if the key needs no steps. */
  observe(key: string, context: ReconcileContext): World | undefined | Promise<World | undefined>;
  /** Selects the steps, in order, based only on the observed state. */
  decide(world: World): Plan;
  /** Returns the context of the steps. */
  begin(world: World, plan: Plan, context: ReconcileContext & { key: string }): Pass;
  steps: Readonly<Record<Name, Step<Pass>>>;
  /**
   * Writes the results of the steps. Returns false if the object has changed since it was observed; the pass
   * is then repeated.
   */
  commit?(pass: Pass): Promise<boolean>;
  /**
   * Returns the milliseconds after which the plan may change without a change in the cluster; undefined for
   * never.
   */
  nextLookMs?(pass: Pass): number | undefined;
}

/** Thrown by a step to start over. The pass is repeated immediately and does not count as failed. */
export class PassInterrupted extends Error {}

/** Gives the watch time to deliver the change that caused a write conflict. */
const conflictRetryMs = 50;

/** Creates a reconcile function from these parts. */
export function createReconciler<World, Plan extends { steps: readonly Name[] }, Name extends string, Pass>(
  parts: ReconcilerParts<World, Plan, Name, Pass>,
): Reconcile {
  return async (key, context) => {
    try {
      const world = await parts.observe(key, context);
      if (world === undefined) return undefined;
      const plan = parts.decide(world);
      const pass = parts.begin(world, plan, { ...context, key });
      const result = await runSteps(parts.steps, plan.steps, pass);
      if (parts.commit && !(await parts.commit(pass))) return { requeueAfterMs: conflictRetryMs };
      return { requeueAfterMs: soonestMs([result?.requeueAfterMs, parts.nextLookMs?.(pass)]) };
    } catch (error) {
      if (error instanceof PassInterrupted) return { requeueAfterMs: 0 };
      throw error;
    }
  };
}

async function runSteps<Name extends string, Pass>(
  steps: Readonly<Record<Name, Step<Pass>>>,
  names: readonly Name[],
  pass: Pass,
): Promise<ReconcileResult | undefined> {
  for (const name of names) {
    const outcome = await steps[name](pass);
    if (outcome === "done") continue;
    return outcome === "wait" ? undefined : outcome;
  }
  return undefined;
}

/** Returns the shortest wait; undefined without one. */
export function soonestMs(waits: readonly (number | undefined)[]): number | undefined {
  const due = waits.flatMap((wait) => (wait !== undefined && Number.isFinite(wait) ? [wait] : []));
  return due.length === 0 ? undefined : Math.min(...due);
}

/**
 * Applies the status and puts the response into the cache, if one is given. Returns undefined if the object
 * is gone. @throws KubeError
 */
export async function writeStatus<T extends KubeObject>(
  client: ResourceClient<T>,
  intent: Intent<T>,
  { cache, ...options }: ApplyOptions & { cache?: Pick<ObjectCache<T>, "upsert"> },
): Promise<Stored<T> | undefined> {
  try {
    const written = await client.applyStatus(intent, options);
    cache?.upsert(written);
    return written;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

import { InvariantWatch } from "../invariants/invariantWatch.ts";
import type { CrashWorld } from "./crashWorld.ts";
import { Life, type LifeEnd } from "./life.ts";

/** Interval between two checks of the invariants. */
const lookMs = 250;

/**
 * Runs a life while checking the invariants, and returns the final state.
 *
 * @throws If something is or was wrong.
 */
export async function watchedLife(world: CrashWorld): Promise<LifeEnd> {
  const watch = new InvariantWatch(world.invariants, lookMs);
  watch.start();
  const [lived] = await Promise.allSettled([new Life(world).live()]);
  const [held] = await Promise.allSettled([watch.stop()]);
  const reasons = [lived, held].flatMap((result) =>
    result.status === "rejected" ? [result.reason as unknown] : [],
  );
  if (lived.status === "fulfilled" && held.status === "fulfilled") return lived.value;
  throw new Error(
    reasons.map((reason) => (reason instanceof Error ? reason.message : String(reason))).join("\n"),
    { cause: reasons[0] },
  );
}

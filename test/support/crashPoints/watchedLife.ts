import { InvariantWatch } from "../invariants/invariantWatch.ts";
import type { CrashWorld } from "./crashWorld.ts";
import { Life, type LifeEnd } from "./life.ts";

/** Between two looks at what has to hold at every moment. */
const lookMs = 250;

/**
 * Lives a life beside which the invariants are looked at; returns what is left of it. Throws when something
 * is, or was, not as it has to be.
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

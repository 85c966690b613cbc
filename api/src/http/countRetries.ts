import type { AppContext, HttpDeps } from "./appContext.ts";
import { applyRateLimits, countedUnder, giveBackRateLimit } from "./applyRateLimits.ts";
import { toHttpError } from "./httpError.ts";
import { StillRunningError } from "./idempotency.ts";
import type { RateLimitName } from "./rateLimits.ts";

/** How the requests of a route count that are sent again. */
export interface RetryLimits {
  /**
   * Limits of the route under which a request does not count when its error response has a `Retry-After`: who
   * asks again when told to must not run out of them.
   */
  limitsGivenBack?: readonly RateLimitName[];
  /**
   * What repeats a request under way, by its `Idempotency-Key`, counts under the one limit in place of the
   * other, which is one of the route.
   */
  repeats?: { countAs: RateLimitName; insteadOf: RateLimitName };
}

/** Does the work of a request that was counted, and takes back what turns out not to count. */
export async function countingRetries(
  ctx: AppContext<HttpDeps>,
  { limitsGivenBack = [], repeats }: RetryLimits,
  work: () => Promise<void>,
): Promise<void> {
  try {
    await (repeats === undefined ? work() : countingRepeats(ctx, repeats, work));
  } catch (error) {
    if (toHttpError(error).retryAfterSeconds !== undefined) {
      for (const name of limitsGivenBack) await giveBackRateLimit(ctx, name);
    }
    throw error;
  }
}

/** A repetition that is over the limit for these is refused, and stays counted under the other one. */
async function countingRepeats(
  ctx: AppContext<HttpDeps>,
  { countAs, insteadOf }: NonNullable<RetryLimits["repeats"]>,
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work();
  } catch (error) {
    const counted = countedUnder(ctx, insteadOf);
    if (error instanceof StillRunningError && counted !== undefined) {
      await applyRateLimits(ctx, [countAs], counted.key);
      await giveBackRateLimit(ctx, insteadOf);
    }
    throw error;
  }
}

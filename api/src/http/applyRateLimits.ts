import { rateLimited } from "../errors.ts";
import { HttpError } from "./httpError.ts";
import type { RateLimitName, RateLimitOutcome, RateLimits } from "./rateLimits.ts";
import type { AppContext } from "./appContext.ts";

/** A request over its rate limits, which `exceeded` names. */
export class RateLimitError extends HttpError {
  readonly exceeded: readonly RateLimitOutcome[];

  constructor(exceeded: readonly RateLimitOutcome[]) {
    const retryAfterSeconds = Math.max(...exceeded.map((outcome) => outcome.resetSeconds));
    super("rate_limited", { message: rateLimited(retryAfterSeconds).message, retryAfterSeconds });
    this.exceeded = exceeded;
  }
}

/**
 * Counts the request under every named limit and sets the rate limit headers.
 *
 * @throws RateLimitError when a limit is used up
 */
export async function applyRateLimits(
  ctx: AppContext<{ rateLimits: RateLimits }>,
  names: readonly RateLimitName[],
  key: string,
): Promise<void> {
  enforceRateLimits(ctx, await ctx.deps.rateLimits.consumeAll(names, key));
}

/**
 * Sets the headers for a request that is already counted, with these outcomes.
 *
 * @throws RateLimitError when a limit is used up
 */
export function enforceRateLimits(ctx: AppContext, outcomes: readonly RateLimitOutcome[]): void {
  if (outcomes.length === 0) return;
  // A handler may count a request again under another key (a partner's upload). The headers show all counts.
  tell(ctx, [...(ctx.state.rateLimitOutcomes ?? []), ...outcomes]);
  const exceeded = outcomes.filter((outcome) => !outcome.isAllowed);
  if (exceeded.length > 0) throw new RateLimitError(exceeded);
}

/** Returns how the request was counted under the limit; undefined when it was not. */
export function countedUnder(ctx: AppContext, name: RateLimitName): RateLimitOutcome | undefined {
  return ctx.state.rateLimitOutcomes?.find((outcome) => outcome.name === name);
}

/** Refunds the request to a limit that it was counted against, and updates the headers. */
export async function refundRateLimit(
  ctx: AppContext<{ rateLimits: RateLimits }>,
  name: RateLimitName,
): Promise<void> {
  const counted = countedUnder(ctx, name);
  if (counted === undefined) return;
  await ctx.deps.rateLimits.refund(name, counted.key);
  const outcomes = ctx.state.rateLimitOutcomes ?? [];
  tell(
    ctx,
    outcomes.map((outcome) =>
      outcome.name === name
        ? { ...outcome, remaining: Math.min(outcome.points, outcome.remaining + 1) }
        : outcome,
    ),
  );
}

/** Sets the rate limit headers to these outcomes. */
function tell(ctx: AppContext, outcomes: readonly RateLimitOutcome[]): void {
  ctx.state.rateLimitOutcomes = outcomes;
  // Both headers of the IETF draft, with one item per limit.
  ctx.res.setHeader(
    "RateLimit-Policy",
    outcomes.map(({ name, points, windowSeconds }) => `"${name}";q=${points};w=${windowSeconds}`).join(", "),
  );
  ctx.res.setHeader(
    "RateLimit",
    outcomes
      .map(({ name, remaining, resetSeconds }) => `"${name}";r=${remaining};t=${Math.ceil(resetSeconds)}`)
      .join(", "),
  );
}

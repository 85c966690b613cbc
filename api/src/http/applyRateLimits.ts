import { rateLimited } from "../errors.ts";
import { HttpError } from "./httpError.ts";
import type { RateLimitName, RateLimitOutcome, RateLimits } from "./rateLimits.ts";
import type { AppContext } from "./appContext.ts";

/** A request that is over its limits, which `exceeded` names. */
export class RateLimitError extends HttpError {
  readonly exceeded: readonly RateLimitOutcome[];

  constructor(exceeded: readonly RateLimitOutcome[], headers: Record<string, string>) {
    const retryAfterSeconds = Math.max(...exceeded.map((outcome) => outcome.resetSeconds));
    super("rate_limited", { message: rateLimited(retryAfterSeconds).message, retryAfterSeconds, headers });
    this.exceeded = exceeded;
  }
}

/** Counts the request under every named limit and sets the headers that say how much is left. Throws RateLimitError when a limit is used up. */
export async function applyRateLimits(ctx: AppContext<{ rateLimits: RateLimits }>, names: readonly RateLimitName[], key: string): Promise<void> {
  enforceRateLimits(ctx, await ctx.deps.rateLimits.consumeAll(names, key));
}

/** Sets the headers for a request that is counted already, with these outcomes. Throws RateLimitError when a limit is used up. */
export function enforceRateLimits(ctx: AppContext, outcomes: readonly RateLimitOutcome[]): void {
  if (outcomes.length === 0) return;
  // A request may be counted again further in, under another key (a partner's upload): the headers show all.
  const counted = ctx.state.rateLimitOutcomes === undefined ? outcomes : [...ctx.state.rateLimitOutcomes, ...outcomes];
  ctx.state.rateLimitOutcomes = counted;
  const headers = rateLimitHeaders(counted);
  for (const [name, value] of Object.entries(headers)) ctx.res.setHeader(name, value);
  const exceeded = outcomes.filter((outcome) => !outcome.isAllowed);
  if (exceeded.length > 0) throw new RateLimitError(exceeded, headers);
}

/** Returns the headers `RateLimit` and `RateLimit-Policy` of the IETF draft, with one item for each limit. */
function rateLimitHeaders(outcomes: readonly RateLimitOutcome[]): Record<string, string> {
  return {
    "RateLimit-Policy": outcomes.map(({ name, points, windowSeconds }) => `"${name}";q=${points};w=${windowSeconds}`).join(", "),
    "RateLimit": outcomes.map(({ name, remaining, resetSeconds }) => `"${name}";r=${remaining};t=${Math.ceil(resetSeconds)}`).join(", "),
  };
}

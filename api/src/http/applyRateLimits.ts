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
  const headers = tell(ctx, [...ctx.state.rateLimitOutcomes ?? [], ...outcomes]);
  const exceeded = outcomes.filter((outcome) => !outcome.isAllowed);
  if (exceeded.length > 0) throw new RateLimitError(exceeded, headers);
}

/** Takes the request back under a limit that it was counted under, for what turned out not to count; the headers then say what is left after that. */
export async function giveBackRateLimit(ctx: AppContext<{ rateLimits: RateLimits }>, name: RateLimitName, key: string): Promise<void> {
  await ctx.deps.rateLimits.giveBack(name, key);
  const outcomes = ctx.state.rateLimitOutcomes ?? [];
  tell(ctx, outcomes.map((outcome) => (outcome.name === name ? { ...outcome, remaining: Math.min(outcome.points, outcome.remaining + 1) } : outcome)));
}

/** Sets the headers to these outcomes, and returns them. */
function tell(ctx: AppContext, outcomes: readonly RateLimitOutcome[]): Record<string, string> {
  ctx.state.rateLimitOutcomes = outcomes;
  const headers = rateLimitHeaders(outcomes);
  for (const [name, value] of Object.entries(headers)) ctx.res.setHeader(name, value);
  return headers;
}

/** Returns the headers `RateLimit` and `RateLimit-Policy` of the IETF draft, with one item for each limit. */
function rateLimitHeaders(outcomes: readonly RateLimitOutcome[]): Record<string, string> {
  return {
    "RateLimit-Policy": outcomes.map(({ name, points, windowSeconds }) => `"${name}";q=${points};w=${windowSeconds}`).join(", "),
    "RateLimit": outcomes.map(({ name, remaining, resetSeconds }) => `"${name}";r=${remaining};t=${Math.ceil(resetSeconds)}`).join(", "),
  };
}

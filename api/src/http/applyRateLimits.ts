import { rateLimited } from "../errors.ts";
import { auditLimits } from "../audit/auditErrorResponse.ts";
import type { RateLimitName, RateLimitOutcome } from "./rateLimits.ts";
import type { AppContext } from "./appContext.ts";

/** A request may be counted again further in, under another key (a partner's upload): the headers show all. */
const countedBefore = new WeakMap<AppContext, RateLimitOutcome[]>();

/** Counts the request under every named limit, tells the caller where it stands, and throws 429 when one is used up. */
export async function applyRateLimits(ctx: AppContext, names: readonly RateLimitName[], key: string): Promise<void> {
  enforceRateLimits(ctx, await ctx.deps.rateLimits.consumeAll(names, key));
}

/** The same for a request that is counted already. */
export function enforceRateLimits(ctx: AppContext, outcomes: readonly RateLimitOutcome[]): void {
  if (outcomes.length === 0) return;
  const counted = [...countedBefore.get(ctx) ?? [], ...outcomes];
  countedBefore.set(ctx, counted);
  const headers = rateLimitHeaders(counted);
  ctx.set(headers);
  const refused = outcomes.filter((outcome) => !outcome.isAllowed);
  if (refused.length === 0) return;
  auditLimits(ctx, refused);
  throw rateLimited(Math.max(...refused.map((outcome) => outcome.resetSeconds)), headers);
}

/** `RateLimit` and `RateLimit-Policy` of the IETF draft: one item per limit. */
function rateLimitHeaders(outcomes: readonly RateLimitOutcome[]): Record<string, string> {
  return {
    "RateLimit-Policy": outcomes.map(({ name, points, windowSeconds }) => `"${name}";q=${points};w=${windowSeconds}`).join(", "),
    "RateLimit": outcomes.map(({ name, remaining, resetSeconds }) => `"${name}";r=${remaining};t=${Math.ceil(resetSeconds)}`).join(", "),
  };
}

import type { Route } from "../route.ts";
import { policiesOf, type RateLimitConfig, type RateLimitName } from "../rateLimits.ts";

const callers: Record<Route["access"], string> = {
  public: "address",
  user: "player",
  viewer: "player, and as many for who watches",
  partner: "API key",
};
/** Limits that are counted by somebody else than the route's caller. */
const ownCallers: Partial<Record<RateLimitName, string>> = {
  upload: "partner",
  pictureUpload: "partner",
  signInFailures: "address, of failed sign-ins",
  authPosts: "address",
};

/**
 * Says a route's limits as this configuration sets them, such as "Limit: 120 requests a minute per player
 * (`catalog`)."
 */
export function limitsDescriber(config: RateLimitConfig): (route: Route) => string | undefined {
  const policies = policiesOf(config);
  return ({ access, limits, innerLimits = [] }) => {
    const sentences = [...limits, ...innerLimits].map((name) => {
      const { points, windowSeconds } = policies[name];
      return `${points} ${windowOf(windowSeconds)} per ${ownCallers[name] ?? callers[access]} (\`${name}\`)`;
    });
    return sentences.length === 0 ? undefined : `Limit: ${sentences.join("; ")}.`;
  };
}

function windowOf(seconds: number): string {
  if (seconds === 60) return "a minute";
  return seconds === 3600 ? "an hour" : `in ${seconds / 60} minutes`;
}

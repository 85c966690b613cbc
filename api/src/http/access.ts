import type { AppContext, HttpDeps } from "./appContext.ts";
import { applyRateLimits } from "./applyRateLimits.ts";
import type { RateLimitName } from "./rateLimits.ts";

/** Which credential a kind of routes takes. */
export type AccessName = "public" | "user" | "viewer" | "partner";

/** Who may call a kind of routes; `Caller` is what handlers are told of whom they serve. */
export interface Access<D, Caller extends object> {
  name: AccessName;
  /** A route that names no query parameters takes none; otherwise it ignores those that come. */
  refusesStrayQuery: boolean;
  /**
   * Checks the credential, notes whose it is in `ctx.state.principal`, and counts the request under the
   * limits. Throws unauthorized, forbidden, and RateLimitError when a limit is used up.
   */
  admit: (ctx: AppContext<D>, limits: readonly RateLimitName[]) => Promise<Caller>;
}

/** Anybody may call; requests are counted by address. */
export const publicAccess: Access<HttpDeps, object> = {
  name: "public",
  refusesStrayQuery: false,
  admit: async (ctx, limits) => {
    await applyRateLimits(ctx, limits, ctx.deps.rateLimits.addressKey(ctx.ip));
    return {};
  },
};

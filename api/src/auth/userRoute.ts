import type { Access } from "../http/access.ts";
import { isTrustedOrigin, requireTrustedOrigin } from "../http/requireTrustedOrigin.ts";
import { toRoute, type Definition, type Route } from "../http/route.ts";
import { renewingWhileValid, requireUser, type UserDeps, type UserPrincipal } from "./requireUser.ts";

/** What handlers get of the signed-in player. */
interface UserCaller {
  user: UserPrincipal;
}

/** Signed-in players may call, from pages that are trusted; requests are counted by user. */
export const userAccess: Access<UserDeps, UserCaller> = {
  name: "user",
  refusesStrayQuery: true,
  admit: async (ctx, limits) => {
    // Another site's page must not use up the player's limits.
    const user = await requireUser(ctx, isTrustedOrigin(ctx) ? limits : []);
    requireTrustedOrigin(ctx);
    return { user };
  },
};

/** Returns a function that makes routes for signed-in players, and whose handlers use `D`. */
export function userRouteFor<D>() {
  return <Params, Query, Body>(
    definition: Definition<D & UserDeps, UserCaller, Params, Query, Body>,
  ): Route<D & UserDeps> => {
    const route: Route<D & UserDeps> = toRoute(userAccess, definition);
    return withValidRenewal(route);
  };
}

/** The same route; a response that comes late renews the cookie only if its sign-in still goes on. */
export function withValidRenewal<D extends UserDeps>(route: Route<D>): Route<D> {
  return { ...route, handle: (ctx) => renewingWhileValid(ctx, () => route.handle(ctx)) };
}

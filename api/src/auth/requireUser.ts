import type { AuthSessions } from "./authSessions.ts";
import { authSessionIdOf, type Tokens } from "./tokens.ts";
import { clearCookie, sessionCookieName, setCookie, withdrawCookie } from "./cookies.ts";
import { signInPlaceOf } from "./signInPlace.ts";
import { unauthorized } from "../errors.ts";
import type { AppContext, HttpDeps } from "../http/appContext.ts";
import { enforceRateLimits } from "../http/applyRateLimits.ts";
import type { RateLimitName, RateLimitOutcome } from "../http/rateLimits.ts";
import { playerHeader } from "#contracts/http/auth.ts";
import { type Access, toRoute, type Definition, type Route } from "../http/route.ts";
import { isTrustedOrigin, requireTrustedOrigin } from "../http/setSecurityHeaders.ts";

/** Dependencies of routes that check a sign-in. */
export interface UserDeps extends HttpDeps {
  tokens: Tokens;
  authSessions: AuthSessions;
}

/** The user of a request with a valid session cookie. */
export interface UserPrincipal {
  id: string;
  name: string;
  email: string;
  /** Hash of the sign-in's id; the id of the auth session's row. */
  authSessionId: string;
  /** When that sign-in began, in whole seconds. */
  signedInAt: Date;
}

/**
 * Returns the signed-in user, counts the request against the limits and renews the cookie.
 *
 * @throws 401 (and clears the cookie) without a valid sign-in, 401 when the request is for another player,
 *   429 when a limit is used up
 */
async function requireUser(
  ctx: AppContext<UserDeps>,
  limits: readonly RateLimitName[],
): Promise<UserPrincipal> {
  const signedIn = await findUser(ctx, limits);
  if (signedIn === undefined || !isForPlayer(ctx, signedIn.user)) throw unauthorized();
  enforceRateLimits(ctx, signedIn.outcomes);
  return signedIn.user;
}

/** The signed-in user of a route that does not require one. */
interface SignedIn {
  user: UserPrincipal;
  /** End of the renewed cookie. */
  expiresAt: Date;
  outcomes: RateLimitOutcome[];
}

/**
 * Requests that end sooner are not checked again, because that would cost each request another Redis command.
 */
const quickMs = 1_000;

/**
 * Runs a request's work, and withdraws the renewed cookie when the sign-in ended during a long request.
 * Otherwise the old cookie could replace that of a newer sign-in, for example after a password change, and
 * sign the player out.
 */
export async function runWithRenewal(ctx: AppContext<UserDeps>, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } finally {
    await withdrawRenewalOfEnded(ctx);
  }
}

async function withdrawRenewalOfEnded(ctx: AppContext<UserDeps>): Promise<void> {
  const { config, clock, authSessions } = ctx.deps;
  const { cookieRenewal: renewal } = ctx.state;
  if (renewal === undefined || clock.monotonicMs() - renewal.admittedMs <= quickMs) return;
  // The server may have already responded to a slow client.
  if ((await authSessions.hasEnded(renewal.authSessionId)) && !ctx.headerSent)
    withdrawCookie(ctx, sessionCookieName(config), renewal.token);
}

/** Returns the signed-in user like requireUser; undefined if there is none. */
export async function findUser(
  ctx: AppContext<UserDeps>,
  limits: readonly RateLimitName[] = [],
): Promise<SignedIn | undefined> {
  const { config, clock, tokens, authSessions } = ctx.deps;
  const cookie = sessionCookieName(config);
  // There is no cookie to check or clear.
  if (ctx.cookies.get(cookie) === undefined) return undefined;
  const claims = await tokens.verify(ctx);
  const authSessionId = claims === undefined ? "" : authSessionIdOf(claims.sid);
  const admission =
    claims === undefined
      ? undefined
      : await authSessions.admit(authSessionId, claims.sub, limits, () => signInPlaceOf(ctx));
  if (claims === undefined || admission === undefined) {
    clearCookie(ctx, cookie);
    return undefined;
  }
  const { token, expiresAt } = tokens.issue(claims, admission.endsAt);
  setCookie(ctx, cookie, token, expiresAt);
  ctx.state.cookieRenewal = { authSessionId, token, admittedMs: clock.monotonicMs() };
  const user = {
    id: claims.sub,
    name: claims.name,
    email: claims.email,
    authSessionId,
    signedInAt: admission.startedAt,
  };
  ctx.state.principal = { kind: "user", id: user.id };
  return { user, expiresAt, outcomes: admission.outcomes };
}

/**
 * Returns whether the request is for the signed-in user, or names no player. A page may still show one player
 * when another has signed in with the same cookies in another window.
 */
export function isForPlayer(ctx: AppContext, user: { id: string } | undefined): boolean {
  const playerId = ctx.get(playerHeader);
  return playerId === "" || playerId === user?.id;
}

/** The signed-in player as passed to handlers. */
interface UserCaller {
  user: UserPrincipal;
}

/** Access for signed-in players, from trusted pages. Requests are counted by user. */
export const userAccess: Access<UserDeps, UserCaller> = {
  name: "user",
  refusesStrayQuery: true,
  admit: async (ctx, limits) => {
    // Other sites' pages must not use up the player's limits.
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

/** Wraps a route: a late response renews the cookie only if the sign-in is still active. */
export function withValidRenewal<D extends UserDeps>(route: Route<D>): Route<D> {
  return { ...route, handle: (ctx) => runWithRenewal(ctx, () => route.handle(ctx)) };
}

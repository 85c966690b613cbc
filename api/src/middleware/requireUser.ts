import { authSessionIdOf } from "../auth/tokens.ts";
import { clearCookie, sessionCookieName, setCookie } from "../auth/cookies.ts";
import { unauthorized } from "../errors.ts";
import type { AppContext, UserPrincipal } from "../routing/appContext.ts";

/** The signed-in user of the request, whose cookie is renewed; throws 401 and clears the cookie when there is none. */
export async function requireUser(ctx: AppContext): Promise<UserPrincipal> {
  const signedIn = await findUser(ctx);
  if (signedIn === undefined) throw unauthorized();
  return signedIn.user;
}

/** The same where nobody need be signed in, with the end of the renewed cookie. */
export async function findUser(ctx: AppContext): Promise<{ user: UserPrincipal; expiresAt: Date } | undefined> {
  const { config, tokens, authSessions } = ctx.deps;
  const cookie = sessionCookieName(config);
  // Nobody to look for, and no cookie to clear.
  if (ctx.cookies.get(cookie) === undefined) return undefined;
  const claims = await tokens.verify(ctx);
  const authSessionId = claims === undefined ? "" : authSessionIdOf(claims.sid);
  if (claims === undefined || !await authSessions.isActive(authSessionId, claims.sub)) {
    clearCookie(ctx, cookie);
    return undefined;
  }
  const { token, expiresAt } = tokens.issue(claims);
  setCookie(ctx, cookie, token, expiresAt);
  const user = { id: claims.sub, name: claims.name, email: claims.email, authSessionId };
  ctx.state.user = user;
  return { user, expiresAt };
}

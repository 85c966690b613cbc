import { clearCookie, csrfCookieName, sessionCookieName, setCookie } from "./cookies.ts";
import { authSessionIdOf } from "./tokens.ts";
import type { AuthContext } from "./authDeps.ts";
import type { AppContext } from "../http/appContext.ts";
import type { NewAuthSession } from "./authSessions.ts";
import type { UserDeps } from "./requireUser.ts";
import { signInPlaceOf } from "./signInPlace.ts";
import type { User } from "./userQueries.ts";

/** Signs the browser in. A new sign-in never continues the one that the browser had. */
export async function beginAuthSession(ctx: AuthContext, user: User, provider: string): Promise<void> {
  const { tokens, authSessions, audit } = ctx.deps;
  const before = await tokens.verify(ctx);
  if (before !== undefined) await authSessions.revoke(authSessionIdOf(before.sid));
  giveAuthSession(ctx, user, await authSessions.create(user.id, signInPlaceOf(ctx)));
  await audit.record({
    action: "signIn.succeeded", actor: { kind: "user", id: user.id }, address: ctx.ip, requestId: ctx.state.requestId, details: { provider },
  });
}

/** Makes the browser come with this sign-in from now on. */
export function giveAuthSession(ctx: AppContext<UserDeps>, { id, name, email }: Pick<User, "id" | "name" | "email">, { sid, endsAt }: NewAuthSession): void {
  const { config, tokens } = ctx.deps;
  const { token, expiresAt } = tokens.issue({ sub: id, name, email, sid }, endsAt);
  setCookie(ctx, sessionCookieName(config), token, expiresAt);
}

/** Signs the browser out for good: copies of its cookie are worthless afterwards. */
export async function endAuthSession(ctx: AuthContext): Promise<void> {
  const { config, tokens, authSessions, audit } = ctx.deps;
  const claims = await tokens.verify(ctx);
  if (claims !== undefined) {
    await authSessions.revoke(authSessionIdOf(claims.sid));
    await audit.record({ action: "signOut", actor: { kind: "user", id: claims.sub }, address: ctx.ip, requestId: ctx.state.requestId });
  }
  clearCookie(ctx, sessionCookieName(config));
}

/** Returns the CSRF token for the browser's forms; a browser keeps the one it has, so that pages it has loaded go on working. */
export function csrfTokenFor(ctx: AuthContext): string {
  const { config, csrfTokens } = ctx.deps;
  const name = csrfCookieName(config);
  const present = csrfTokens.read(ctx.cookies.get(name));
  if (present !== undefined) return present;
  const { token, cookie } = csrfTokens.create();
  setCookie(ctx, name, cookie);
  return token;
}

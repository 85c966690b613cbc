import { clearCookie, csrfCookieName, sessionCookieName, setCookie } from "./cookies.ts";
import { authSessionIdOf, type CsrfTokens } from "./tokens.ts";
import { DomainError, unauthorized } from "../errors.ts";
import type { AppContext } from "../http/appContext.ts";
import type { NewAuthSession } from "./authSessions.ts";
import type { UserDeps, UserPrincipal } from "./requireUser.ts";
import { OAuthFailure, type OAuthProvider } from "./oauth/oauthProvider.ts";
import { signIn, type SignInDeps } from "./signIn.ts";
import { signInPlaceOf } from "./signInPlace.ts";
import { type User, findUserById } from "./userQueries.ts";
import { limits } from "#contracts/limits.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";
import type { OAuthTransactions } from "./oauth/oauthTransactions.ts";
import type { IdentitySignInDeps } from "./signInWithIdentity.ts";

/**
 * Signs the browser in with a password.
 *
 * @throws what `signIn` throws
 */
export async function signInByPassword(
  ctx: AuthContext,
  { email, password }: { email: string; password: string },
): Promise<void> {
  const { deps } = ctx;
  const credentials = { email, password, address: ctx.ip, requestId: ctx.state.requestId };
  const { user, created } = await signIn(deps, credentials, async (checked) => {
    const session = await deps.authSessions.createByPassword(checked, signInPlaceOf(ctx));
    return session === undefined ? undefined : { user: checked, created: session };
  });
  await takeAuthSession(ctx, user, created, "credentials");
}

/**
 * Signs the browser in as a user that a provider has identified.
 *
 * @throws OAuthFailure when the account was disabled or deleted in the meantime
 */
export async function signInByProvider(ctx: AuthContext, user: User, provider: string): Promise<void> {
  const created = await ctx.deps.authSessions.create(user.id, signInPlaceOf(ctx)).catch((error: unknown) => {
    if (!(error instanceof DomainError) || error.code !== "unauthorized") throw error;
    throw new OAuthFailure(
      "AccessDenied",
      "The account was disabled, or deleted, while it was signed in to.",
      error,
      user.email,
    );
  });
  await takeAuthSession(ctx, user, created, provider);
}

/**
 * Signs the browser in as the user of a one-time link.
 *
 * @throws unauthorized when the account was disabled or deleted in the meantime
 */
export async function signInByLink(ctx: AuthContext, user: User, link: string): Promise<void> {
  const created = await ctx.deps.authSessions.create(user.id, signInPlaceOf(ctx));
  await takeAuthSession(ctx, user, created, link);
}

/** Switches the browser to a new sign-in and revokes its previous one. */
async function takeAuthSession(
  ctx: AuthContext,
  user: User,
  created: NewAuthSession,
  provider: string,
): Promise<void> {
  const { tokens, authSessions, audit } = ctx.deps;
  const before = await tokens.verify(ctx);
  if (before !== undefined) await authSessions.revoke(authSessionIdOf(before.sid));
  giveAuthSession(ctx, user, created);
  await audit.record({
    action: "signIn.succeeded",
    actor: { kind: "user", id: user.id },
    address: ctx.ip,
    requestId: ctx.state.requestId,
    details: { provider },
  });
}

/** Sets the session cookie for a sign-in. */
export function giveAuthSession(
  ctx: AppContext<UserDeps>,
  { id, name, email }: Pick<User, "id" | "name" | "email">,
  { sid, endsAt }: NewAuthSession,
): void {
  const { config, tokens } = ctx.deps;
  const { token, expiresAt } = tokens.issue({ sub: id, name, email, sid }, endsAt);
  setCookie(ctx, sessionCookieName(config), token, expiresAt);
}

/** Ends the browser's sign-in. Copies of its cookie stop working. */
export async function endAuthSession(ctx: AuthContext): Promise<void> {
  const { config, tokens, authSessions, audit } = ctx.deps;
  const claims = await tokens.verify(ctx);
  if (claims !== undefined) {
    await authSessions.revoke(authSessionIdOf(claims.sid));
    await audit.record({
      action: "signOut",
      actor: { kind: "user", id: claims.sub },
      address: ctx.ip,
      requestId: ctx.state.requestId,
    });
  }
  clearCookie(ctx, sessionCookieName(config));
}

/**
 * Returns the CSRF token for the browser's forms. An existing token is reused, so loaded pages keep working.
 */
export function csrfTokenFor(ctx: AuthContext): string {
  const { config, csrfTokens } = ctx.deps;
  const name = csrfCookieName(config);
  const present = csrfTokens.read(ctx.cookies.get(name));
  if (present !== undefined) return present;
  const { token, cookie } = csrfTokens.create();
  setCookie(ctx, name, cookie);
  return token;
}

/** Dependencies of a reauthentication. */
type ReauthenticationDeps = UserDeps & SignInDeps;

/** Returns whether the sign-in is recent enough to change sign-in settings. */
export function isRecentSignIn(clock: Clock, { signedInAt }: Pick<UserPrincipal, "signedInAt">): boolean {
  return clock.now().getTime() - signedInAt.getTime() < limits.auth.recentSignInSeconds * 1000;
}

/**
 * Confirms the player's presence by their password or, without one, by a recent sign-in. Wrong passwords
 * count as failed sign-ins.
 *
 * @throws reauthentication_required, and what `signIn` throws
 */
export async function requireReauthentication(
  ctx: AppContext<ReauthenticationDeps>,
  user: UserPrincipal,
  currentPassword: string | undefined,
): Promise<void> {
  const { clock, postgres } = ctx.deps;
  if (currentPassword === undefined) {
    if (isRecentSignIn(clock, user)) return;
    throw reauthenticationRequired(
      "Changing sign-in settings needs the account's password or a sign-in that is less than 5 minutes old. Send the password, or sign in again.",
    );
  }
  // The address in the token may be an old one.
  const account = await findUserById(postgres.prisma, user.id);
  if (account === undefined) throw unauthorized();
  try {
    const credentials = {
      email: account.email,
      password: currentPassword,
      address: ctx.ip,
      requestId: ctx.state.requestId,
    };
    await signIn(ctx.deps, credentials, (checked) => Promise.resolve({ user: checked }));
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    if (error.code === "account_disabled") throw unauthorized({ cause: error });
    if (error.code !== "invalid_credentials") throw error;
    throw reauthenticationRequired("That is not the password of this account.");
  }
}

function reauthenticationRequired(message: string): DomainError {
  return new DomainError("reauthentication_required", { message });
}

/** Dependencies of the sign-in and sign-out routes. */
export type AuthDeps = UserDeps &
  SignInDeps &
  IdentitySignInDeps & {
    config: {
      /** The page on which players sign in; undefined for the built-in form. */
      signInPageUrl: string | undefined;
      defaultAvatarUrl: string;
    };
    csrfTokens: CsrfTokens;
    /** Configured providers, by id. */
    oauthProviders: ReadonlyMap<string, OAuthProvider>;
    oauthTransactions: OAuthTransactions;
  };

/** Context of a request to a sign-in or sign-out route. */
export type AuthContext = AppContext<AuthDeps>;

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

/** Signs the browser in by a password. Throws what `signIn` throws. */
export async function signInByPassword(
  ctx: AuthContext,
  { email, password }: { email: string; password: string },
): Promise<void> {
  const { deps } = ctx;
  const credentials = { email, password, address: ctx.ip, requestId: ctx.state.requestId };
  const { user, begun } = await signIn(deps, credentials, async (checked) => {
    const session = await deps.authSessions.createByPassword(checked, signInPlaceOf(ctx));
    return session === undefined ? undefined : { user: checked, begun: session };
  });
  await takeAuthSession(ctx, user, begun, "credentials");
}

/**
 * Signs the browser in as a user whom a provider has identified. Throws OAuthFailure when the account was
 * disabled, or deleted, since.
 */
export async function signInByProvider(ctx: AuthContext, user: User, provider: string): Promise<void> {
  const begun = await ctx.deps.authSessions.create(user.id, signInPlaceOf(ctx)).catch((error: unknown) => {
    if (!(error instanceof DomainError) || error.code !== "unauthorized") throw error;
    throw new OAuthFailure(
      "AccessDenied",
      "The account was disabled, or deleted, while it was signed in to.",
      error,
      user.email,
    );
  });
  await takeAuthSession(ctx, user, begun, provider);
}

/** Makes the browser go on with a sign-in that has begun, which never continues the one that it had. */
async function takeAuthSession(
  ctx: AuthContext,
  user: User,
  begun: NewAuthSession,
  provider: string,
): Promise<void> {
  const { tokens, authSessions, audit } = ctx.deps;
  const before = await tokens.verify(ctx);
  if (before !== undefined) await authSessions.revoke(authSessionIdOf(before.sid));
  giveAuthSession(ctx, user, begun);
  await audit.record({
    action: "signIn.succeeded",
    actor: { kind: "user", id: user.id },
    address: ctx.ip,
    requestId: ctx.state.requestId,
    details: { provider },
  });
}

/** Makes the browser come with this sign-in from now on. */
export function giveAuthSession(
  ctx: AppContext<UserDeps>,
  { id, name, email }: Pick<User, "id" | "name" | "email">,
  { sid, endsAt }: NewAuthSession,
): void {
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
 * Returns the CSRF token for the browser's forms; a browser keeps the one it has, so that pages it has loaded
 * go on working.
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

/** What it takes to check once more who is signed in. */
type ReauthenticationDeps = UserDeps & SignInDeps;

/** Whether the request's sign-in is young enough to change how one signs in. */
export function isRecentSignIn(clock: Clock, { signedInAt }: Pick<UserPrincipal, "signedInAt">): boolean {
  return clock.now().getTime() - signedInAt.getTime() < limits.auth.recentSignInSeconds * 1000;
}

/**
 * Makes sure that the player is here, and not only their cookie: by their password or, without one, by a
 * sign-in of the last minutes. Throws reauthentication_required, and what signing in throws: passwords that
 * are guessed here are counted as there.
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
      "Send the account's password, or sign in anew: this changes how one signs in, and this sign-in is older than 5 minutes.",
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
    if (!(error instanceof DomainError) || error.code !== "invalid_credentials") throw error;
    throw reauthenticationRequired("That is not the password of this account.");
  }
}

function reauthenticationRequired(message: string): DomainError {
  return new DomainError("reauthentication_required", { message });
}

/** What the routes of signing in and out need. */
export type AuthDeps = UserDeps &
  SignInDeps &
  IdentitySignInDeps & {
    config: {
      /** The page that players sign in on; undefined for our own plain form. */
      signInPageUrl: string | undefined;
      defaultAvatarUrl: string;
    };
    csrfTokens: CsrfTokens;
    /** External providers of sign-ins, by id. */
    oauthProviders: ReadonlyMap<string, OAuthProvider>;
    oauthTransactions: OAuthTransactions;
  };

/** The context of a request that signs somebody in or out. */
export type AuthContext = AppContext<AuthDeps>;

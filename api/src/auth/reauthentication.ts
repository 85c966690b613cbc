import { limits } from "#contracts/limits.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";
import { DomainError, unauthorized } from "../errors.ts";
import type { AppContext } from "../http/appContext.ts";
import type { UserDeps, UserPrincipal } from "./requireUser.ts";
import { signIn, type SignInDeps } from "./signIn.ts";
import { findUserById } from "./userQueries.ts";

/** What it takes to check once more who is signed in. */
export type ReauthenticationDeps = UserDeps & SignInDeps;

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

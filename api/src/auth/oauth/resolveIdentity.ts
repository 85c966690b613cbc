import type { SignInError } from "#contracts/http/auth.ts";
import type { Profile } from "./profile.ts";

/** Facts about an identity that arrived from a provider. */
export interface IdentityContext {
  profile: Pick<Profile, "email" | "isEmailVerified">;
  /** Whether the provider's verified addresses are trusted. */
  trustsEmail: boolean;
  /** The user that the identity is linked to. */
  owner: { id: string; isDisabled: boolean } | undefined;
  /** The user with the profile's e-mail address. */
  userWithSameEmail: { id: string; isDisabled: boolean; isEmailVerified: boolean } | undefined;
  /** The signed-in user who asked for the identity to be linked. */
  linkTo: string | undefined;
  /** Whether that user has reauthenticated. */
  mayLink: boolean;
}

/** What happens to the identity: it signs a user in, is linked to a user, gets a new user, or is refused. */
export type IdentityDecision =
  | { kind: "signIn" | "link"; userId: string }
  | { kind: "create"; email: string }
  | { kind: "refuse"; reason: SignInError };

/**
 * Decides which user an identity signs in as. An account is linked by its address only under three
 * conditions: the provider says that the address is verified, the provider is trusted for this, and the
 * account's address is verified. Otherwise whoever registered an address first could take over the account.
 */
export function resolveIdentity({
  profile: { email, isEmailVerified },
  trustsEmail,
  owner,
  userWithSameEmail,
  linkTo,
  mayLink,
}: IdentityContext): IdentityDecision {
  if (owner !== undefined) {
    if (linkTo !== undefined && linkTo !== owner.id) return refuse("OAuthAccountNotLinked");
    return owner.isDisabled ? refuse("AccessDenied") : { kind: "signIn", userId: owner.id };
  }
  if (linkTo !== undefined)
    return mayLink ? { kind: "link", userId: linkTo } : refuse("ReauthenticationRequired");
  if (userWithSameEmail !== undefined) {
    if (!isEmailVerified || !trustsEmail || !userWithSameEmail.isEmailVerified)
      return refuse("OAuthAccountNotLinked");
    return userWithSameEmail.isDisabled
      ? refuse("AccessDenied")
      : { kind: "link", userId: userWithSameEmail.id };
  }
  return email !== undefined && isEmailVerified ? { kind: "create", email } : refuse("OAuthCreateAccount");
}

function refuse(reason: SignInError): IdentityDecision {
  return { kind: "refuse", reason };
}

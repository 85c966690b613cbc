import type { SignInError } from "#contracts/http/auth.ts";
import type { Profile } from "./profile.ts";

/** What is known when somebody comes back from a provider. */
export interface Standing {
  profile: Pick<Profile, "email" | "isEmailVerified">;
  /** Whether the provider is trusted to have verified addresses. */
  trustsEmail: boolean;
  /** The user that this identity belongs to. */
  owner: { id: string; isDisabled: boolean } | undefined;
  /** The user that has the profile's e-mail address. */
  namesake: { id: string; isDisabled: boolean; isEmailVerified: boolean } | undefined;
  /** The signed-in user who asked for the identity to be linked. */
  linkTo: string | undefined;
}

export type Verdict =
  | { kind: "signIn" | "link"; userId: string }
  | { kind: "create"; email: string }
  | { kind: "refuse"; reason: SignInError };

/**
 * Who an identity signs in as. An account is joined by its address only when all three vouch for it: the provider says it is
 * verified, we trust the provider in that, and the account's own address is verified, or whoever registered it first would own both.
 */
export function judgeIdentity({ profile: { email, isEmailVerified }, trustsEmail, owner, namesake, linkTo }: Standing): Verdict {
  if (owner !== undefined) {
    if (linkTo !== undefined && linkTo !== owner.id) return refuse("OAuthAccountNotLinked");
    return owner.isDisabled ? refuse("AccessDenied") : { kind: "signIn", userId: owner.id };
  }
  if (linkTo !== undefined) return { kind: "link", userId: linkTo };
  if (namesake !== undefined) {
    if (!isEmailVerified || !trustsEmail || !namesake.isEmailVerified) return refuse("OAuthAccountNotLinked");
    return namesake.isDisabled ? refuse("AccessDenied") : { kind: "link", userId: namesake.id };
  }
  return email !== undefined && isEmailVerified ? { kind: "create", email } : refuse("OAuthCreateAccount");
}

function refuse(reason: SignInError): Verdict {
  return { kind: "refuse", reason };
}

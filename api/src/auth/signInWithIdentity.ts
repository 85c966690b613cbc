import type { Audit } from "../audit/audit.ts";
import { resolveIdentity } from "./oauth/resolveIdentity.ts";
import { OAuthFailure, type OAuthProvider } from "./oauth/oauthProvider.ts";
import type { Profile } from "./oauth/profile.ts";
import {
  deleteUnconfirmedUserOf,
  findIdentityUsers,
  findUserOfIdentity,
  insertIdentity,
  insertUserOfIdentity,
} from "./identityQueries.ts";
import type { User } from "./userQueries.ts";
import type { Postgres } from "../stores/postgres.ts";
import type { Queryable } from "../stores/queryable.ts";

/** Dependencies of a sign-in with an external identity. */
export interface IdentitySignInDeps {
  audit: Audit;
  postgres: Postgres;
}

/** A user that a provider has identified. */
export interface IdentityArrival {
  provider: Pick<OAuthProvider, "id" | "trustsEmail">;
  profile: Profile;
  /** The signed-in user to link the identity to. */
  linkTo: string | undefined;
  /** Whether that user has reauthenticated. */
  mayLink: boolean;
  address: string;
  requestId: string;
}

interface Outcome {
  user: User;
  isNewUser: boolean;
  isLinked: boolean;
}

const uniqueViolation = "23505";
const attemptsMax = 3;

/**
 * Returns the user that an identity signs in as: the linked user, a user that it is linked to now, or a new
 * one.
 *
 * @throws OAuthFailure when none of these is allowed
 */
export async function signInWithIdentity(deps: IdentitySignInDeps, arrival: IdentityArrival): Promise<User> {
  const {
    provider: { id: provider },
    address,
    requestId,
  } = arrival;
  const { user, isNewUser, isLinked } = await resolveWithRetries(deps, arrival);
  const event = { actor: { kind: "user", id: user.id }, address, requestId, details: { provider } } as const;
  if (isNewUser)
    await deps.audit.record({ ...event, action: "user.created", subject: { kind: "user", id: user.id } });
  if (isLinked)
    await deps.audit.record({ ...event, action: "identity.linked", subject: { kind: "user", id: user.id } });
  return user;
}

/** An identity may arrive twice concurrently. The database lets one write, and the other finds the result. */
async function resolveWithRetries(
  { postgres }: IdentitySignInDeps,
  arrival: IdentityArrival,
): Promise<Outcome> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await postgres.transaction((transaction) => resolveInTransaction(transaction, arrival));
    } catch (error) {
      const isDuplicate = error instanceof Error && "code" in error && error.code === uniqueViolation;
      if (!isDuplicate || attempt === attemptsMax) throw error;
    }
  }
}

async function resolveInTransaction(
  transaction: Queryable,
  { provider: { trustsEmail }, profile, linkTo, mayLink }: IdentityArrival,
): Promise<Outcome> {
  if (profile.email !== undefined && profile.isEmailVerified && linkTo === undefined)
    await deleteUnconfirmedUserOf(transaction, profile.email);
  const decision = resolveIdentity({
    profile,
    trustsEmail,
    linkTo,
    mayLink,
    ...(await findIdentityUsers(transaction, profile)),
  });
  if (decision.kind === "refuse")
    throw new OAuthFailure(
      decision.reason,
      "The identity is not allowed to sign in.",
      undefined,
      profile.email,
    );
  const isNewUser = decision.kind === "create";
  const userId = isNewUser
    ? // Only a trusted provider proves an address; otherwise another identity with the same address could
      // later sign in as this user.
      await insertUserOfIdentity(transaction, {
        email: decision.email,
        isProven: trustsEmail,
        name: profile.name ?? nameFrom(decision.email),
        image: profile.image,
      })
    : decision.userId;
  const isLinked = decision.kind !== "signIn";
  if (isLinked) await insertIdentity(transaction, profile, userId);
  return { user: await findUserOfIdentity(transaction, userId), isNewUser, isLinked };
}

function nameFrom(email: string): string {
  return email.slice(0, email.indexOf("@"));
}

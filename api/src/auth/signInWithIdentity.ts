import type { Audit } from "../audit/audit.ts";
import { judgeIdentity } from "./oauth/linkRule.ts";
import { OAuthFailure } from "./oauth/oauthFailure.ts";
import type { OAuthProvider } from "./oauth/oauthProvider.ts";
import type { Profile } from "./oauth/profile.ts";
import { findStanding, insertIdentity, insertUserOfIdentity, readUser } from "./identities.ts";
import type { User } from "./users.ts";
import type { Postgres } from "../stores/postgres.ts";

/** What a sign-in by an external identity needs. */
export interface IdentitySignInDeps {
  audit: Audit;
  postgres: Postgres;
}

/** Somebody whom a provider has identified. */
export interface IdentityArrival {
  provider: Pick<OAuthProvider, "id" | "trustsEmail">;
  profile: Profile;
  /** The signed-in user who wants the identity linked. */
  linkTo: string | undefined;
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
 * The user that an identity signs in as: the one it belongs to, one it is linked with now, or a new one. Throws OAuthFailure
 * when it may be none of these.
 */
export async function signInWithIdentity(deps: IdentitySignInDeps, arrival: IdentityArrival): Promise<User> {
  const { provider: { id: provider }, address, requestId } = arrival;
  const { user, isNewUser, isLinked } = await settle(deps, arrival);
  const event = { actor: { kind: "user", id: user.id }, address, requestId, details: { provider } } as const;
  if (isNewUser) await deps.audit.record({ ...event, action: "user.created", subject: { kind: "user", id: user.id } });
  if (isLinked) await deps.audit.record({ ...event, action: "identity.linked", subject: { kind: "user", id: user.id } });
  return user;
}

/** Two arrivals of one identity at once: the database lets one write, and the other then finds what was written. */
async function settle({ postgres }: IdentitySignInDeps, arrival: IdentityArrival): Promise<Outcome> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await postgres.transaction((transaction) => place(transaction, arrival));
    } catch (error) {
      const isLate = error instanceof Error && "code" in error && error.code === uniqueViolation;
      if (!isLate || attempt === attemptsMax) throw error;
    }
  }
}

async function place(transaction: Parameters<typeof findStanding>[0], { provider: { trustsEmail }, profile, linkTo }: IdentityArrival): Promise<Outcome> {
  const verdict = judgeIdentity({ profile, trustsEmail, linkTo, ...await findStanding(transaction, profile) });
  if (verdict.kind === "refuse") throw new OAuthFailure(verdict.reason, "The identity may not sign in as anybody here.");
  const isNewUser = verdict.kind === "create";
  const userId = isNewUser
    ? await insertUserOfIdentity(transaction, { email: verdict.email, name: profile.name ?? nameFrom(verdict.email), image: profile.image })
    : verdict.userId;
  const isLinked = verdict.kind !== "signIn";
  if (isLinked) await insertIdentity(transaction, profile, userId);
  return { user: await readUser(transaction, userId), isNewUser, isLinked };
}

function nameFrom(email: string): string {
  return email.slice(0, email.indexOf("@"));
}

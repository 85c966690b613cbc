import type { BoundedQueue } from "#runtime/scheduling/boundedQueue.ts";
import { limits } from "#contracts/limits.ts";
import { accountDisabledSentence, unconfirmedSentence } from "#contracts/http/auth.ts";
import type { Audit, AuditEvent } from "../audit/audit.ts";
import { accountHashOf } from "./tokens.ts";
import { isEmail, normalizeEmail } from "./email.ts";
import type { Attempt, Locked, Lockout } from "./lockout.ts";
import type { Passwords } from "./passwords.ts";
import type { OverLimit, SignInFailures } from "./signInFailures.ts";
import { tooManySignIns, type SignInTurns } from "./signInTurns.ts";
import { DomainError, rateLimited } from "../errors.ts";
import type { RateLimits } from "../http/rateLimits.ts";
import type { Metrics } from "../metrics.ts";
import type { Postgres } from "../stores/postgres.ts";
import { findUserByEmail, updateUnchangedPasswordHash, type CheckedUser } from "./userQueries.ts";

/** Dependencies of a sign-in with a password. */
export interface SignInDeps {
  config: { auth: { pepper: string } };
  audit: Audit;
  lockout: Lockout;
  metrics: Metrics;
  passwords: Passwords;
  postgres: Postgres;
  rateLimits: RateLimits;
  signInFailures: SignInFailures;
  /** Limits how many sign-ins query the stores at once. */
  signInQueue: BoundedQueue;
  /** Lets sign-ins wait for attempts in flight. */
  signInTurns: SignInTurns;
}

/** An attempt to sign in with a password. */
export interface Credentials {
  email: string;
  password: string;
  /** Client address of the attempt. */
  address: string;
  requestId: string;
}

/** Result of a right password. */
export interface SignedInUser {
  user: CheckedUser;
}

type Begin<T extends SignedInUser> = (user: CheckedUser) => Promise<T | undefined>;

/** Maximum number of checks per attempt, when the account changes during each of them. */
const checksMax = 3;

/**
 * Finds the user with this e-mail address and password and returns the result of `begin`, which returns
 * undefined when the account has changed since the check.
 *
 * @throws invalid_credentials (an unknown address and a wrong password look alike and take equally long),
 *   account_disabled or unconfirmed after the right password, locked after too many failures of the e-mail
 *   address, rate_limited after too many from one network
 */
export async function signIn<T extends SignedInUser>(
  deps: SignInDeps,
  credentials: Credentials,
  begin: Begin<T>,
): Promise<T> {
  const { metrics, audit } = deps;
  const email = normalizeEmail(credentials.email);
  const attempt = await beginAttempt(deps, email, credentials);
  let created: T | undefined;
  try {
    created = await beginChecked(deps, email, credentials, begin);
  } catch (error) {
    await attempt.cancelled();
    throw error;
  }
  if (created === undefined) {
    metrics.signInDone("failed");
    await Promise.all([
      attempt.failed(),
      audit.record({ action: "signIn.failed", ...accountEvent(deps, credentials) }),
    ]);
    throw new DomainError("invalid_credentials", {
      message: "That e-mail and password do not match an account.",
    });
  }
  await attempt.succeeded();
  metrics.signInDone("succeeded");
  return created;
}

/**
 * Counts the attempt by network and by e-mail address and returns the permission to check one password. May
 * wait for other attempts.
 */
async function beginAttempt(deps: SignInDeps, email: string, credentials: Credentials): Promise<Attempt> {
  const { signInQueue, signInTurns, rateLimits } = deps;
  const place = rateLimits.addressKey(credentials.address);
  const subject = email.slice(0, limits.auth.emailMaxLength + 1);
  // Querying the stores for many sign-ins at once would keep the event loop busy and delay players.
  const begin = (): Promise<Attempt[] | undefined> =>
    signInQueue.run(() => beginAtBoth(deps, place, subject, credentials));
  const attempts = (await begin()) ?? (await signInTurns.take([place, subject], begin));
  const reporting = (report: (attempt: Attempt) => Promise<void>) => async (): Promise<void> => {
    await Promise.all(attempts.map(report));
    signInTurns.call(place);
    signInTurns.call(subject);
  };
  return {
    isAllowed: true,
    failed: reporting((attempt) => attempt.failed()),
    succeeded: reporting((attempt) => attempt.succeeded()),
    cancelled: reporting((attempt) => attempt.cancelled()),
  };
}

/**
 * Returns the attempts at the network's and the e-mail address's counters; undefined when either depends on
 * attempts in flight.
 */
async function beginAtBoth(
  deps: SignInDeps,
  place: string,
  subject: string,
  credentials: Credentials,
): Promise<Attempt[] | undefined> {
  const placeAttempt = await admitPlace(deps, await deps.signInFailures.begin(place), credentials);
  if (placeAttempt === undefined) return undefined;
  let subjectAttempt: Attempt | undefined;
  try {
    subjectAttempt = await admit(deps, await deps.lockout.begin(subject), credentials);
  } finally {
    // No password is checked: a locked address must not lock out the rest of its network.
    if (subjectAttempt === undefined) await placeAttempt.cancelled();
  }
  return subjectAttempt === undefined ? undefined : [placeAttempt, subjectAttempt];
}

async function admitPlace(
  { metrics, audit }: SignInDeps,
  attempt: Attempt | OverLimit | undefined,
  { address, requestId }: Credentials,
): Promise<Attempt | undefined> {
  if (attempt?.isAllowed !== false) return attempt;
  metrics.signInDone("limited");
  if (attempt.isFirst)
    await audit.record({
      action: "limit.reached",
      actor: { kind: "anonymous" },
      address,
      requestId,
      details: { limit: "signInFailures" },
    });
  throw rateLimited(attempt.retryAfterSeconds);
}

async function admit(
  deps: SignInDeps,
  attempt: Attempt | Locked | undefined,
  credentials: Credentials,
): Promise<Attempt | undefined> {
  if (attempt?.isAllowed !== false) return attempt;
  deps.metrics.signInDone("locked");
  await deps.audit.record({ action: "signIn.locked", ...accountEvent(deps, credentials) });
  throw new DomainError("locked", {
    message: "Too many failed sign-ins. Try again later.",
    retryAfterSeconds: attempt.retryAfterSeconds,
  });
}

/**
 * Returns the audit event of a failed sign-in. It contains the e-mail address as a hash, whether or not there
 * is an account.
 */
function accountEvent(
  { config }: SignInDeps,
  { email, address, requestId }: Credentials,
): Omit<AuditEvent, "action"> {
  const id = accountHashOf(config.auth.pepper, normalizeEmail(email));
  return { actor: { kind: "anonymous" }, subject: { kind: "account", id }, address, requestId };
}

/**
 * Returns the result of `begin` for the user with this password; undefined when no user has it. If the
 * account changes during the check, it is checked again: after a password change this password is wrong, and
 * after a concurrent rehash it is still right.
 */
async function beginChecked<T extends SignedInUser>(
  deps: SignInDeps,
  email: string,
  credentials: Credentials,
  begin: Begin<T>,
): Promise<T | undefined> {
  for (let checks = 0; checks < checksMax; checks += 1) {
    const checked = await checkedUser(deps, email, credentials.password);
    if (checked === undefined) return undefined;
    if (checked.user.isDisabled) throw await refuseDisabled(deps, checked.user.id, credentials);
    if (checked.user.isUnconfirmed) throw new DomainError("unconfirmed", { message: unconfirmedSentence });
    const user = checked.shouldRehash
      ? await rehashed(deps, checked.user, credentials.password)
      : checked.user;
    const created = user === undefined ? undefined : await begin(user);
    if (created !== undefined) return created;
  }
  throw tooManySignIns();
}

/** Records the attempt and returns the error. Nobody without the password learns that the account exists. */
async function refuseDisabled(
  { metrics, audit }: SignInDeps,
  userId: string,
  { address, requestId }: Credentials,
): Promise<DomainError> {
  metrics.signInDone("disabled");
  await audit.record({
    action: "signIn.refused",
    actor: { kind: "anonymous" },
    subject: { kind: "user", id: userId },
    address,
    requestId,
    details: { reason: "disabled" },
  });
  return new DomainError("account_disabled", { message: accountDisabledSentence });
}

async function checkedUser(
  deps: SignInDeps,
  email: string,
  password: string,
): Promise<
  { user: CheckedUser & { isDisabled: boolean; isUnconfirmed: boolean }; shouldRehash: boolean } | undefined
> {
  const isPossible = isEmail(email) && password.length <= limits.auth.passwordMaxLength;
  const user = isPossible
    ? await deps.signInQueue.run(() => findUserByEmail(deps.postgres.pool, email))
    : undefined;
  const passwordHash = user?.passwordHash ?? null;
  const { isEqual, shouldRehash } = await deps.passwords.check(
    password.slice(0, limits.auth.passwordMaxLength),
    passwordHash,
  );
  if (!isEqual || user === undefined || passwordHash === null) return undefined;
  return { user: { ...user, passwordHash }, shouldRehash };
}

/**
 * Replaces the checked hash with a new one and returns the user with the new hash; undefined when the account
 * has another hash by now.
 */
async function rehashed(
  { passwords, postgres }: SignInDeps,
  user: CheckedUser,
  password: string,
): Promise<CheckedUser | undefined> {
  const passwordHash = await passwords.hash(password);
  return (await updateUnchangedPasswordHash(postgres.prisma, user, passwordHash))
    ? { ...user, passwordHash }
    : undefined;
}

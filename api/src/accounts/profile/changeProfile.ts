import { randomUUID } from "node:crypto";
import { limits } from "#contracts/limits.ts";
import type { Audit, AuditEvent } from "../../audit/audit.ts";
import { updateAuthSessionsRevoked } from "../../auth/authSessionQueries.ts";
import { DomainError, unauthorized } from "../../errors.ts";
import { readPictureFormat } from "../../http/pictureFormat.ts";
import type { Mailer } from "../../mail/mailer.ts";
import type { Postgres } from "../../stores/postgres.ts";
import { deleteIdempotencyKeysOfUser, deleteUserById } from "../accountQueries.ts";
import { issueAccountLink, takeAccountLink } from "../links/accountLinks.ts";
import {
  deleteAccountLinks,
  deleteAccountLinksOfUser,
  findAccountOfAddress,
} from "../links/accountLinkQueries.ts";
import { addressInUseMail, deletionMail, emailChangedMail, emailChangeMail } from "../links/messages.ts";
import { repeatUpTo } from "#runtime/scheduling/backgroundJob.ts";
import {
  deleteUserPicture,
  findProfile,
  lockDueDeletion,
  updateDeleteAt,
  updateDeletionCancelled,
  updateUserEmail,
  updateUserImage,
  updateUserName,
  upsertUserPicture,
} from "./profileQueries.ts";

/** Dependencies of changes by the player. */
export interface ProfileDeps {
  postgres: Postgres;
  audit: Audit;
}

/** The player who makes a change, with the request. */
export interface ProfileChange {
  userId: string;
  address: string;
  requestId: string;
}

/** Sets the player's name. */
export async function changeName(
  { postgres, audit }: ProfileDeps,
  change: ProfileChange,
  name: string,
): Promise<void> {
  await updateUserName(postgres.pool, change.userId, name);
  await audit.record(eventOf("user.nameChanged", change));
}

/** The path of players' pictures. */
export const avatarPath = "/api/avatars";

const { bytes: bytesMax, sideMin, sideMax } = limits.auth.avatar;

/**
 * Stores the player's picture.
 *
 * @throws invalid_picture
 */
export async function changePicture(
  { postgres, audit }: ProfileDeps,
  change: ProfileChange,
  content: Buffer,
): Promise<void> {
  const format = content.length > bytesMax ? undefined : readPictureFormat(content);
  const isWithin = (side: number): boolean => side >= sideMin && side <= sideMax;
  if (format === undefined || !isWithin(format.width) || !isWithin(format.height))
    throw new DomainError("invalid_picture", {
      message: `The picture must be a PNG, JPEG, WebP or AVIF of at most ${bytesMax / 1024} KiB, and each side must have ${sideMin} to ${sideMax} pixels.`,
    });
  const id = randomUUID();
  await postgres.transaction(async (transaction) => {
    await upsertUserPicture(transaction, { id, userId: change.userId, type: format.type, content });
    await updateUserImage(transaction, change.userId, `${avatarPath}/${id}`);
  });
  await audit.record(eventOf("user.pictureChanged", change));
}

/** Removes the player's picture. */
export async function removePicture({ postgres, audit }: ProfileDeps, change: ProfileChange): Promise<void> {
  await postgres.transaction(async (transaction) => {
    await deleteUserPicture(transaction, change.userId);
    await updateUserImage(transaction, change.userId, null);
  });
  await audit.record(eventOf("user.pictureRemoved", change));
}

/** Mails a link that changes the player's address to the new one, unless that has an account already. */
export async function mailEmailChange(
  { postgres, mailer, config }: { postgres: Postgres; mailer: Mailer; config: { baseUrl: string } },
  userId: string,
  email: string,
): Promise<void> {
  const account = await findAccountOfAddress(postgres.pool, email);
  if (account !== undefined) {
    await mailer.send(addressInUseMail(email));
    return;
  }
  const link = await postgres.transaction(async (transaction) => {
    await deleteAccountLinks(transaction, "email_change", email);
    return issueAccountLink(transaction, config.baseUrl, {
      purpose: "email_change",
      email,
      userId,
      seconds: limits.auth.link.emailChangeSeconds,
    });
  });
  await mailer.send(emailChangeMail(email, link));
}

const uniqueViolation = "23505";

/**
 * Changes the address with a link and returns the former one. Other links of the player stop working.
 *
 * @throws invalid_link, conflict when the address has an account by now
 */
export async function confirmEmailChange(
  { postgres, audit }: ProfileDeps,
  { token, address, requestId }: { token: string; address: string; requestId: string },
): Promise<{ former: string; email: string }> {
  const changed = await postgres
    .transaction(async (transaction) => {
      const { email, userId } = await takeAccountLink(transaction, token, "email_change");
      const former = userId === null ? undefined : await updateUserEmail(transaction, userId, email);
      if (userId === null || former === undefined)
        throw new DomainError("invalid_link", { message: "The account of this link is gone." });
      await deleteAccountLinksOfUser(transaction, userId);
      return { userId, email, former };
    })
    .catch((error: unknown) => {
      if (!(error instanceof Error) || !("code" in error) || error.code !== uniqueViolation) throw error;
      throw new DomainError("conflict", { message: "This address belongs to another account by now." });
    });
  await audit.record(eventOf("user.emailChanged", { userId: changed.userId, address, requestId }));
  return changed;
}

/** Mails the former address that it was replaced, in case the player did not do that. */
export function mailEmailChanged(mailer: Mailer, former: string): Promise<void> {
  return mailer.send(emailChangedMail(former));
}

/** Schedules the deletion of the account and returns its time. */
export async function scheduleDeletion(
  { postgres, audit }: ProfileDeps,
  change: ProfileChange,
): Promise<Date> {
  const deleteAt = await updateDeleteAt(postgres.pool, change.userId, limits.auth.deletionDays);
  if (deleteAt === undefined) throw unauthorized();
  await audit.record(eventOf("user.deletionScheduled", change));
  return deleteAt;
}

/** Mails the player when the account will be deleted, in case they did not ask for that. */
export async function mailDeletion(
  { postgres, mailer, config }: { postgres: Postgres; mailer: Mailer; config: { baseUrl: string } },
  userId: string,
  deleteAt: Date,
): Promise<void> {
  const profile = await findProfile(postgres.pool, userId);
  if (profile !== undefined) await mailer.send(deletionMail(profile.email, deleteAt, config.baseUrl));
}

/** Cancels the deletion of the account. A no-op if none is scheduled. */
export async function cancelDeletion({ postgres, audit }: ProfileDeps, change: ProfileChange): Promise<void> {
  if (await updateDeletionCancelled(postgres.pool, change.userId))
    await audit.record(eventOf("user.deletionCancelled", change));
}

const deletionsPerPassMax = 50;

/** Deletes the accounts whose time to change one's mind is over, with their saves. */
export async function sweepDeletions({
  postgres,
  audit,
  authSessions,
}: ProfileDeps & {
  authSessions: { announceRevoked(ids: readonly string[]): Promise<void> };
}): Promise<void> {
  await repeatUpTo(deletionsPerPassMax, async () => {
    const deleted = await postgres.transaction(async (transaction) => {
      const id = await lockDueDeletion(transaction);
      if (id === undefined) return undefined;
      const ended = await updateAuthSessionsRevoked(transaction, id);
      await deleteIdempotencyKeysOfUser(transaction, id);
      await deleteUserById(transaction, id);
      return { id, ended };
    });
    if (deleted === undefined) return false;
    await authSessions.announceRevoked(deleted.ended);
    const user = { kind: "user", id: deleted.id } as const;
    await audit.record({ action: "user.deleted", actor: user, subject: user });
    return true;
  });
}

function eventOf(action: string, { userId, address, requestId }: ProfileChange): AuditEvent {
  const user = { kind: "user", id: userId } as const;
  return { action, actor: user, subject: user, address, requestId };
}

import { requiredName } from "#contracts/http/text.ts";
import { limits } from "#contracts/limits.ts";
import type { Audit } from "../audit/audit.ts";
import { normalizeEmail } from "../auth/email.ts";
import { DomainError, invalidRequest, notFound } from "../errors.ts";
import type { Postgres } from "../stores/postgres.ts";
import type { Queryable } from "../stores/queryable.ts";
import {
  deleteGroupMembers,
  deleteGroupRow,
  findGroup,
  findUserIdsByEmail,
  type GroupDetails,
  insertGroup,
  insertGroupMembers,
  replaceGameGroups,
  updateGameRestricted,
  updateGroupPlayLimits,
} from "./groupQueries.ts";

/** Dependencies of changes of groups. */
export interface GroupDeps {
  postgres: Postgres;
  audit: Audit;
}

const groupName = requiredName(60);

/**
 * Creates a group of players.
 *
 * @throws invalid_request, conflict when the name exists
 */
export async function createGroup(
  { postgres, audit }: GroupDeps,
  typed: string,
): Promise<{ id: string; name: string }> {
  const name = groupName.safeParse(typed).data;
  if (name === undefined) throw invalidRequest("The name must have 1 to 60 characters in one line.");
  const id = await insertGroup(postgres.pool, name);
  if (id === undefined) throw new DomainError("conflict", { message: `The group ${name} already exists.` });
  await record(audit, "group.created", id, {});
  return { id, name };
}

/**
 * Deletes a group. Games that only this group saw stay restricted: nobody sees them.
 *
 * @throws not_found
 */
export async function deleteGroup({ postgres, audit }: GroupDeps, name: string): Promise<GroupDetails> {
  const group = await requireGroup(postgres.pool, name);
  await deleteGroupRow(postgres.pool, group.id);
  await record(audit, "group.deleted", group.id, {});
  return group;
}

/** A changed group. */
export interface ChangedGroup {
  id: string;
  name: string;
  /** Number of players who joined or left. */
  changed: number;
}

/**
 * Adds players to a group: all of them, or none if one is unknown.
 *
 * @throws not_found
 */
export function addToGroup(deps: GroupDeps, name: string, emails: readonly string[]): Promise<ChangedGroup> {
  return changeMembers(deps, name, emails, "group.membersAdded", insertGroupMembers);
}

/**
 * Removes players from a group: all of them, or none if one is unknown.
 *
 * @throws not_found
 */
export function removeFromGroup(
  deps: GroupDeps,
  name: string,
  emails: readonly string[],
): Promise<ChangedGroup> {
  return changeMembers(deps, name, emails, "group.membersRemoved", deleteGroupMembers);
}

async function changeMembers(
  { postgres, audit }: GroupDeps,
  name: string,
  typed: readonly string[],
  action: string,
  change: (db: Queryable, groupId: string, userIds: readonly string[]) => Promise<number>,
): Promise<ChangedGroup> {
  const { id } = await requireGroup(postgres.pool, name);
  const emails = typed.map(normalizeEmail);
  const users = await findUserIdsByEmail(postgres.pool, emails);
  const unknown = emails.filter((email) => !users.has(email));
  if (unknown.length > 0) throw notFound(`There is no user ${unknown.join(", ")}. Nothing was changed.`);
  const changed = await change(postgres.pool, id, [...users.values()]);
  await record(audit, action, id, { players: changed });
  return { id, name, changed };
}

/** Hours for which the members of a group may play; null for the site's limit, undefined for no change. */
export interface GroupPlayHours {
  perDay: number | null | undefined;
  perMonth: number | null | undefined;
}

/**
 * Limits how long the members of a group may play, instead of the site's limits. Sessions that are launched
 * afterwards follow it.
 *
 * @throws invalid_request, not_found
 */
export async function limitGroup(
  { postgres, audit }: GroupDeps,
  name: string,
  { perDay, perMonth }: GroupPlayHours,
): Promise<GroupDetails> {
  if (perDay === undefined && perMonth === undefined)
    throw invalidRequest("Set --hours-per-day, --hours-per-month, or both.");
  const playSeconds = {
    perDay: secondsOf(perDay, limits.gameSession.playHoursMax.perDay),
    perMonth: secondsOf(perMonth, limits.gameSession.playHoursMax.perMonth),
  };
  const { id } = await requireGroup(postgres.pool, name);
  await updateGroupPlayLimits(postgres.pool, id, playSeconds);
  const limited = await requireGroup(postgres.pool, name);
  await record(audit, "group.limited", id, {
    secondsPerDay: limited.playSecondsPerDay ?? "site",
    secondsPerMonth: limited.playSecondsPerMonth ?? "site",
  });
  return limited;
}

function secondsOf(hours: number | null | undefined, max: number): number | null | undefined {
  if (hours === null || hours === undefined) return hours;
  if (!(hours > 0 && hours <= max))
    throw invalidRequest(`The hours must be more than 0 and at most ${max}, or none for the site's limit.`);
  return Math.max(limits.gameSession.playSecondsMin, Math.round(hours * 3600));
}

/**
 * Restricts a game to the members of these groups. Others get 404 from their next request on; running
 * sessions continue.
 *
 * @throws not_found
 */
export async function restrictGame(
  { postgres, audit }: GroupDeps,
  slug: string,
  names: readonly string[],
): Promise<{ slug: string; groups: string[] }> {
  const groups = await Promise.all(names.map((name) => requireGroup(postgres.pool, name)));
  const gameId = await postgres.transaction(async (transaction) => {
    const id = await updateGameRestricted(transaction, slug, true);
    if (id === undefined) throw noSuchGame(slug);
    await replaceGameGroups(
      transaction,
      id,
      groups.map((group) => group.id),
    );
    return id;
  });
  await audit.record({
    action: "game.restricted",
    actor: { kind: "operator" },
    subject: { kind: "game", id: gameId },
    details: { groups: names.join(", ") },
  });
  return { slug, groups: groups.map(({ name }) => name) };
}

/**
 * Shows a game to all players again.
 *
 * @throws not_found
 */
export async function unrestrictGame(
  { postgres, audit }: GroupDeps,
  slug: string,
): Promise<{ slug: string }> {
  const gameId = await postgres.transaction(async (transaction) => {
    const id = await updateGameRestricted(transaction, slug, false);
    if (id === undefined) throw noSuchGame(slug);
    await replaceGameGroups(transaction, id, []);
    return id;
  });
  await audit.record({
    action: "game.unrestricted",
    actor: { kind: "operator" },
    subject: { kind: "game", id: gameId },
  });
  return { slug };
}

/**
 * Returns the group with that name.
 *
 * @throws not_found
 */
export async function requireGroup(db: Queryable, name: string): Promise<GroupDetails> {
  const group = await findGroup(db, name);
  if (group === undefined) throw notFound(`There is no group ${name}. See \`joypod group list\`.`);
  return group;
}

function noSuchGame(slug: string): Error {
  return notFound(`There is no game ${slug}.`);
}

async function record(
  audit: Audit,
  action: string,
  id: string,
  details: Record<string, string | number>,
): Promise<void> {
  await audit.record({ action, actor: { kind: "operator" }, subject: { kind: "group", id }, details });
}

import type { Queryable } from "../stores/queryable.ts";

/** A group in a list. */
export interface ListedGroup {
  name: string;
  members: number;
  games: number;
  /** Limits of the members' play time; null for the site's. */
  playSecondsPerDay: number | null;
  playSecondsPerMonth: number | null;
  createdAt: Date;
}

/** A group with its members and games. */
export interface GroupDetails extends ListedGroup {
  id: string;
  /** Addresses of the members; the first 1000. */
  memberEmails: string[];
  gameSlugs: string[];
}

const counts = `
  (SELECT count(*)::int FROM player_group_members m WHERE m.group_id = p.id) AS members,
  (SELECT count(*)::int FROM game_groups g WHERE g.group_id = p.id) AS games,
  p.play_seconds_per_day AS "playSecondsPerDay", p.play_seconds_per_month AS "playSecondsPerMonth", p.created_at AS "createdAt"`;

/** Returns groups by name after the cursor, at most `limit`. */
export async function listGroups(
  db: Queryable,
  { search, after, limit }: { search: string | undefined; after: string | undefined; limit: number },
): Promise<ListedGroup[]> {
  const { rows } = await db.query<ListedGroup>({
    text: `SELECT p.name, ${counts} FROM player_groups p
      WHERE ($1::text IS NULL OR strpos(lower(p.name), lower($1)) > 0) AND ($2::text IS NULL OR p.name > $2)
      ORDER BY p.name LIMIT $3`,
    values: [search ?? null, after ?? null, limit],
  });
  return rows;
}

/** Returns the group with that name; undefined if unknown. */
export async function findGroup(db: Queryable, name: string): Promise<GroupDetails | undefined> {
  const { rows } = await db.query<GroupDetails>({
    text: `SELECT p.id, p.name, ${counts},
        ARRAY(SELECT u.email FROM player_group_members m JOIN users u ON u.id = m.user_id WHERE m.group_id = p.id ORDER BY u.email LIMIT 1000) AS "memberEmails",
        ARRAY(SELECT g.slug FROM game_groups gg JOIN games g ON g.id = gg.game_id WHERE gg.group_id = p.id ORDER BY g.slug) AS "gameSlugs"
      FROM player_groups p WHERE p.name = $1`,
    values: [name],
  });
  return rows[0];
}

/** Stores a group and returns its id; undefined if the name exists. */
export async function insertGroup(db: Queryable, name: string): Promise<string | undefined> {
  const { rows } = await db.query<{ id: string }>({
    text: "INSERT INTO player_groups (name) VALUES ($1) ON CONFLICT (name) DO NOTHING RETURNING id",
    values: [name],
  });
  return rows[0]?.id;
}

/** Sets the limits of the members' play time, in seconds; null for the site's, undefined for no change. */
export async function updateGroupPlayLimits(
  db: Queryable,
  id: string,
  { perDay, perMonth }: { perDay: number | null | undefined; perMonth: number | null | undefined },
): Promise<void> {
  await db.query({
    text: `UPDATE player_groups SET
        play_seconds_per_day = CASE WHEN $2 THEN $3::int ELSE play_seconds_per_day END,
        play_seconds_per_month = CASE WHEN $4 THEN $5::int ELSE play_seconds_per_month END
      WHERE id = $1`,
    values: [id, perDay !== undefined, perDay ?? null, perMonth !== undefined, perMonth ?? null],
  });
}

/** Deletes a group; its games stay restricted. */
export async function deleteGroupRow(db: Queryable, id: string): Promise<void> {
  await db.query({ text: "DELETE FROM player_groups WHERE id = $1", values: [id] });
}

/** Adds users to a group and returns the number of those who were not in it. */
export async function insertGroupMembers(
  db: Queryable,
  groupId: string,
  userIds: readonly string[],
): Promise<number> {
  const { rowCount } = await db.query({
    text: "INSERT INTO player_group_members (group_id, user_id) SELECT $1, * FROM unnest($2::text[]) ON CONFLICT DO NOTHING",
    values: [groupId, userIds],
  });
  return rowCount ?? 0;
}

/** Removes users from a group and returns the number of those who were in it. */
export async function deleteGroupMembers(
  db: Queryable,
  groupId: string,
  userIds: readonly string[],
): Promise<number> {
  const { rowCount } = await db.query({
    text: "DELETE FROM player_group_members WHERE group_id = $1 AND user_id = ANY ($2)",
    values: [groupId, userIds],
  });
  return rowCount ?? 0;
}

/** Returns the ids of users by their normalised addresses. */
export async function findUserIdsByEmail(
  db: Queryable,
  emails: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const { rows } = await db.query<{ id: string; email: string }>({
    text: "SELECT id, email FROM users WHERE email = ANY ($1)",
    values: [emails],
  });
  return new Map(rows.map(({ id, email }) => [email, id]));
}

/** Restricts a game, or ends that, and returns its id; undefined if there is no such game. */
export async function updateGameRestricted(
  transaction: Queryable,
  slug: string,
  isRestricted: boolean,
): Promise<string | undefined> {
  const { rows } = await transaction.query<{ id: string }>({
    text: "UPDATE games SET is_restricted = $2, updated_at = now() WHERE slug = $1 AND deleted_at IS NULL RETURNING id",
    values: [slug, isRestricted],
  });
  return rows[0]?.id;
}

/** Sets the groups that see a game. */
export async function replaceGameGroups(
  transaction: Queryable,
  gameId: string,
  groupIds: readonly string[],
): Promise<void> {
  await transaction.query({
    text: "DELETE FROM game_groups WHERE game_id = $1 AND group_id <> ALL ($2)",
    values: [gameId, groupIds],
  });
  await transaction.query({
    text: "INSERT INTO game_groups (game_id, group_id) SELECT $1, * FROM unnest($2::text[]) ON CONFLICT DO NOTHING",
    values: [gameId, groupIds],
  });
}

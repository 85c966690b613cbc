import type { Queryable } from "../../stores/queryable.ts";

/** A player to whom a channel is open. */
export interface ListedTester {
  id: string;
  email: string;
  channel: string;
  createdAt: Date;
}

/** Returns the game's testers, by channel and address. */
export async function listTesters(db: Queryable, gameId: string): Promise<ListedTester[]> {
  const { rows } = await db.query<ListedTester>({
    name: "list-testers",
    text: `SELECT id, email, channel, created_at AS "createdAt" FROM game_testers WHERE game_id = $1 ORDER BY channel, email`,
    values: [gameId],
  });
  return rows;
}

/** Opens the channel of a (locked) game to the addresses and returns the number of the game's testers. */
export async function insertTesters(
  transaction: Queryable,
  gameId: string,
  channel: string,
  emails: readonly string[],
): Promise<number> {
  await transaction.query({
    name: "insert-testers",
    text: `INSERT INTO game_testers (game_id, channel, email) SELECT $1, $2, email FROM unnest($3::text[]) AS email
      ON CONFLICT (game_id, channel, email) DO NOTHING`,
    values: [gameId, channel, emails],
  });
  const { rows } = await transaction.query<{ count: number }>({
    name: "count-testers",
    text: "SELECT count(*)::int AS count FROM game_testers WHERE game_id = $1",
    values: [gameId],
  });
  return rows[0]?.count ?? 0;
}

/** Closes the channel to a tester; false if there is none. */
export async function deleteTester(db: Queryable, gameId: string, testerId: string): Promise<boolean> {
  const { rowCount } = await db.query({
    name: "delete-tester",
    text: "DELETE FROM game_testers WHERE game_id = $1 AND id = $2",
    values: [gameId, testerId],
  });
  return rowCount === 1;
}

/** A link that opens a channel. */
export interface ListedPlayLink {
  id: string;
  channel: string;
  createdAt: Date;
  expiresAt: Date;
  /** Players who have opened it. */
  players: number;
}

/** Returns the game's links that have not expired, newest first. */
export async function listPlayLinks(db: Queryable, gameId: string): Promise<ListedPlayLink[]> {
  const { rows } = await db.query<ListedPlayLink>({
    name: "list-play-links",
    text: `SELECT l.id, l.channel, l.created_at AS "createdAt", l.expires_at AS "expiresAt",
        (SELECT count(*)::int FROM play_link_players p WHERE p.link_id = l.id) AS players
      FROM play_links l WHERE l.game_id = $1 AND l.expires_at > now() ORDER BY l.created_at DESC, l.id`,
    values: [gameId],
  });
  return rows;
}

/** A link about to be stored. */
interface NewPlayLink {
  gameId: string;
  channel: string;
  tokenHash: string;
  hours: number;
  /** Maximum number of the game's links. */
  linksMax: number;
}

/** Stores a link of a (locked) game and removes expired ones; undefined when the game has too many. */
export async function insertPlayLink(
  transaction: Queryable,
  { gameId, channel, tokenHash, hours, linksMax }: NewPlayLink,
): Promise<ListedPlayLink | undefined> {
  await transaction.query({
    name: "delete-expired-play-links",
    text: "DELETE FROM play_links WHERE game_id = $1 AND expires_at <= now()",
    values: [gameId],
  });
  const { rows } = await transaction.query<ListedPlayLink>({
    name: "insert-play-link",
    text: `INSERT INTO play_links (game_id, channel, token_hash, expires_at)
      SELECT $1, $2, $3, now() + make_interval(hours => $4::int) WHERE (SELECT count(*) FROM play_links WHERE game_id = $1) < $5
      RETURNING id, channel, created_at AS "createdAt", expires_at AS "expiresAt", 0 AS players`,
    values: [gameId, channel, tokenHash, hours, linksMax],
  });
  return rows[0];
}

/** Removes a link, which closes the channel to those who opened it; false if there is none. */
export async function deletePlayLink(db: Queryable, gameId: string, linkId: string): Promise<boolean> {
  const { rowCount } = await db.query({
    name: "delete-play-link",
    text: "DELETE FROM play_links WHERE game_id = $1 AND id = $2",
    values: [gameId, linkId],
  });
  return rowCount === 1;
}

/** What a player has opened. */
export interface OpenedLink {
  gameSlug: string;
  channel: string;
  /** False when too many others have opened the link. */
  isOpened: boolean;
}

/** Opens the link to the player; undefined when it is unknown or has expired. Idempotent. */
export async function openLink(
  db: Queryable,
  userId: string,
  { tokenHash, playersMax }: { tokenHash: string; playersMax: number },
): Promise<OpenedLink | undefined> {
  const { rows } = await db.query<OpenedLink>({
    name: "open-play-link",
    text: `WITH link AS (
        SELECT l.id, l.channel, g.slug FROM play_links l JOIN games g ON g.id = l.game_id
        WHERE l.token_hash = $1 AND l.expires_at > now() AND g.deleted_at IS NULL AND g.hidden_at IS NULL
      ), opened AS (
        INSERT INTO play_link_players (link_id, user_id)
        SELECT id, $2 FROM link WHERE (SELECT count(*) FROM play_link_players p WHERE p.link_id = link.id AND p.user_id <> $2) < $3
        ON CONFLICT (link_id, user_id) DO UPDATE SET opened_at = play_link_players.opened_at RETURNING 1
      )
      SELECT slug AS "gameSlug", channel, EXISTS (SELECT FROM opened) AS "isOpened" FROM link`,
    values: [tokenHash, userId, playersMax],
  });
  return rows[0];
}

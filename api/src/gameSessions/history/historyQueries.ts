import type { PublicStatus } from "#contracts/crd/sessionState.ts";
import type { HistoryQuery, PlayTimeQuery } from "#contracts/http/history.ts";
import { isListed, isVisibleTo } from "../../games/gameVisibility.ts";
import type { Queryable } from "../../stores/queryable.ts";

/** A game in the player's history. It may have left the catalogue. */
interface PlayedGameRow {
  slug: string;
  title: string;
  thumbnail: string;
  isListed: boolean;
}

/** One session of the player's history. */
export interface PlayedSessionRow extends PlayedGameRow {
  id: string;
  status: PublicStatus;
  startedAt: Date;
  readyAt: Date | null;
  endedAt: Date | null;
  durationSeconds: number | null;
  stopReason: string | null;
  failureReason: string | null;
  saveNotice: string | null;
  slotId: string | null;
  slotNumber: number | null;
  slotLabel: string | null;
}

/** The number and total duration of all sessions that a history query finds. */
interface PlayTotals {
  total: number;
  playSeconds: number;
}

/** A game with the sum of the player's sessions. */
export interface GamePlayTimeRow extends PlayedGameRow {
  sessions: number;
  playSeconds: number;
  lastPlayedAt: Date;
}

/**
 * Returns a page of the player's sessions, newest first. `picturesAddress` is the prefix of pictures'
 * addresses.
 */
export async function listPlayedSessions(
  db: Queryable,
  userId: string,
  { game, page, limit }: HistoryQuery,
  picturesAddress: string,
): Promise<PlayedSessionRow[]> {
  const { rows } = await db.query<PlayedSessionRow>({
    name: "list-played-sessions",
    text: `SELECT g.slug, g.title, ${thumbnailOf("$5::text")} AS thumbnail,
        ${isListed} AND ${isVisibleTo("$1")} AS "isListed",
        s.id, s.status, s.started_at AS "startedAt", s.ready_at AS "readyAt", s.ended_at AS "endedAt",
        s.duration_seconds AS "durationSeconds", s.stop_reason AS "stopReason", s.failure_reason AS "failureReason",
        s.save_notice AS "saveNotice",
        slot.id AS "slotId", slot.number AS "slotNumber", COALESCE(slot.custom_label, slot.label) AS "slotLabel"
      FROM game_sessions s JOIN games g ON g.id = s.game_id LEFT JOIN save_slots slot ON slot.id = s.slot_id
      WHERE s.user_id = $1 AND ($2::text IS NULL OR g.slug = $2)
      ORDER BY s.started_at DESC, s.id LIMIT $3 OFFSET $4`,
    values: [userId, game ?? null, limit, (page - 1) * limit, picturesAddress],
  });
  return rows;
}

/** Returns number and total duration of the player's sessions, of one game if a slug is passed. */
export async function sumPlayedSessions(
  db: Queryable,
  userId: string,
  game: string | undefined,
): Promise<PlayTotals> {
  const { rows } = await db.query<PlayTotals>({
    name: "sum-played-sessions",
    text: `SELECT count(*)::int AS total, coalesce(sum(s.duration_seconds), 0) AS "playSeconds"
      FROM game_sessions s JOIN games g ON g.id = s.game_id WHERE s.user_id = $1 AND ($2::text IS NULL OR g.slug = $2)`,
    values: [userId, game ?? null],
  });
  return rows[0] ?? { total: 0, playSeconds: 0 };
}

/** Returns a page of the games that the player has played, the one with the longest play time first. */
export async function listGamePlayTimes(
  db: Queryable,
  userId: string,
  { page, limit }: PlayTimeQuery,
  picturesAddress: string,
): Promise<GamePlayTimeRow[]> {
  const { rows } = await db.query<GamePlayTimeRow>({
    name: "list-game-play-times",
    text: `SELECT g.slug, g.title, ${thumbnailOf("$4::text")} AS thumbnail,
        ${isListed} AND ${isVisibleTo("$1")} AS "isListed",
        played.sessions, played.seconds AS "playSeconds", played.at AS "lastPlayedAt"
      FROM (
        SELECT game_id, count(*)::int AS sessions, coalesce(sum(duration_seconds), 0) AS seconds, max(started_at) AS at
          FROM game_sessions WHERE user_id = $1 GROUP BY game_id
      ) played JOIN games g ON g.id = played.game_id
      ORDER BY played.seconds DESC, played.at DESC, g.id LIMIT $2 OFFSET $3`,
    values: [userId, limit, (page - 1) * limit, picturesAddress],
  });
  return rows;
}

/** Returns how many games the player has played. */
export async function countPlayedGames(db: Queryable, userId: string): Promise<number> {
  const { rows } = await db.query<{ total: number }>({
    name: "count-played-games",
    text: "SELECT count(DISTINCT game_id)::int AS total FROM game_sessions WHERE user_id = $1",
    values: [userId],
  });
  return rows[0]?.total ?? 0;
}

/** Returns the address of a game's picture, or an empty text; a game that an admin hides shows none. */
function thumbnailOf(picturesAddress: string): string {
  return `CASE WHEN g.hidden_at IS NULL THEN coalesce(${picturesAddress} || g.picture_id, g.thumbnail, '') ELSE '' END`;
}

import type { Game, GameVersion, PrismaClient } from "../generated/client.ts";
import type { Queryable } from "../stores/queryable.ts";
import type { VerifyMode } from "./verificationQueries.ts";

/**
 * A deleted game's slug stays reserved and its archive is kept for this time, so the partner can restore it
 * and old links do not lead to another game.
 */
export const deletedGameKeptDays = 90;

/** A partner's game with its current archive, if any. */
export type PartnerGame = Game & { currentVersion: GameVersion | null };

/** Game data that the partner sets. */
export interface GameMetadata {
  title: string;
  developer: string;
  launcher: string;
  engineDir: string;
  description?: string;
  tags?: string[];
  thumbnail?: string | null;
  screenshots?: string[];
  contentRating?: string | null;
  languages?: string[];
  website?: string | null;
  releaseDate?: Date | null;
  network?: Game["network"];
  visibility?: Game["visibility"];
  autoActivate?: boolean;
  verify?: VerifyMode | null;
  saveLimitMb?: number | null;
  stopGraceSeconds?: number | null;
  memoryMb?: number | null;
  cpuMillicores?: number | null;
  gpuShare?: number | null;
  pictureWidth?: number | null;
  pictureHeight?: number | null;
}

const listed = {
  id: true,
  slug: true,
  title: true,
  developer: true,
  tags: true,
  status: true,
  currentVersionId: true,
  hiddenAt: true,
  hiddenReason: true,
  createdAt: true,
  updatedAt: true,
} as const;

/** Entry of a partner's list of games. */
export type ListedGame = Pick<Game, keyof typeof listed>;

/** Returns the partner's games, sorted by slug, without deleted ones. */
export async function listPartnerGames(prisma: PrismaClient, partnerId: string): Promise<ListedGame[]> {
  return prisma.game.findMany({
    where: { partnerId, deletedAt: null },
    orderBy: { slug: "asc" },
    select: listed,
  });
}

/** Locks the partner's list of games until the transaction ends. Take it before the lock of any game. */
export async function lockPartnerGames(transaction: Queryable, partnerId: string): Promise<void> {
  await transaction.query({
    name: "lock-partner-games",
    text: "SELECT FROM partners WHERE id = $1 FOR NO KEY UPDATE",
    values: [partnerId],
  });
}

/** Returns the number of the partner's games, without deleted ones. */
export async function countPartnerGames(db: Queryable, partnerId: string): Promise<number> {
  const { rows } = await db.query<{ count: number }>({
    name: "count-partner-games",
    text: "SELECT count(*)::int AS count FROM games WHERE partner_id = $1 AND deleted_at IS NULL",
    values: [partnerId],
  });
  return rows[0]?.count ?? 0;
}

/** Returns the partner's game with that slug; null when it is unknown, deleted or another partner's. */
export async function findPartnerGame(
  prisma: PrismaClient,
  partnerId: string,
  slug: string,
): Promise<PartnerGame | null> {
  return prisma.game.findFirst({
    where: { partnerId, slug, deletedAt: null },
    include: { currentVersion: true },
  });
}

/** Returns whether the game exists and is not deleted. */
export async function isGameThere(db: Queryable, gameId: string): Promise<boolean> {
  const { rowCount } = await db.query({
    name: "is-game-there",
    text: "SELECT FROM games WHERE id = $1 AND deleted_at IS NULL",
    values: [gameId],
  });
  return rowCount === 1;
}

/** A game that was just stored. */
export type InsertedGame = Pick<Game, "id" | "slug">;

/**
 * Stores a new game of the partner; undefined when the slug is taken by any partner or reserved for a deleted
 * game.
 */
export async function insertPartnerGame(
  transaction: Queryable,
  partnerId: string,
  game: GameMetadata & { slug: string },
): Promise<InsertedGame | undefined> {
  // Other rows still reference the old row, so it stays under a name that no game can have. Its GameCache,
  // which has the slug as its name, must be gone.
  await transaction.query({
    name: "free-old-slug",
    text: `UPDATE games SET slug = slug || '~' || id
      WHERE slug = $1 AND deleted_at < now() - make_interval(days => $2::int) AND cache_applied_revision = cache_revision`,
    values: [game.slug, deletedGameKeptDays],
  });
  const { rows } = await transaction.query<InsertedGame>({
    name: "insert-game",
    text: `INSERT INTO games (partner_id, slug, title, developer, launcher, engine_dir, description, tags, thumbnail, screenshots, content_rating,
        languages, website, release_date, network, save_limit_mb, memory_mb, cpu_millicores, gpu_share, picture_width, picture_height,
        stop_grace_seconds, visibility, auto_activate, verify)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25)
      ON CONFLICT (slug) DO NOTHING RETURNING id, slug`,
    values: [
      partnerId,
      game.slug,
      game.title,
      game.developer,
      game.launcher,
      game.engineDir,
      game.description ?? "",
      game.tags ?? [],
      game.thumbnail ?? null,
      game.screenshots ?? [],
      game.contentRating ?? null,
      game.languages ?? [],
      game.website ?? null,
      game.releaseDate?.toISOString().slice(0, 10) ?? null,
      game.network ?? "none",
      game.saveLimitMb ?? null,
      game.memoryMb ?? null,
      game.cpuMillicores ?? null,
      game.gpuShare ?? null,
      game.pictureWidth ?? null,
      game.pictureHeight ?? null,
      game.stopGraceSeconds ?? null,
      game.visibility ?? "public",
      game.autoActivate ?? true,
      game.verify, // Absent is null.
    ],
  });
  return rows[0];
}

/**
 * Changes the given fields of the partner's game and returns the changed game; null when the game does not
 * exist or, if `revision` is given, is at another revision.
 */
export async function updatePartnerGame(
  prisma: PrismaClient,
  partnerId: string,
  id: string,
  changes: Partial<GameMetadata> & { profileMemoryFloorMb?: null },
  revision?: number,
): Promise<PartnerGame | null> {
  const [game] = await prisma.game.updateManyAndReturn({
    where: { id, partnerId, deletedAt: null, ...(revision !== undefined && { revision }) },
    data: changes,
    include: { currentVersion: true },
  });
  return game ?? null;
}

/** A game that is locked until the transaction ends. */
export type LockedPartnerGame = Pick<Game, "id" | "revision" | "currentVersionId" | "launcher" | "engineDir">;

/** Locks the partner's game until the transaction ends; undefined when it is unknown or deleted. */
export async function lockPartnerGame(
  transaction: Queryable,
  partnerId: string,
  slug: string,
): Promise<LockedPartnerGame | undefined> {
  const { rows } = await transaction.query<LockedPartnerGame>({
    name: "lock-partner-game",
    text: `SELECT id, revision, current_version_id AS "currentVersionId", launcher, engine_dir AS "engineDir" FROM games
      WHERE partner_id = $1 AND slug = $2 AND deleted_at IS NULL FOR UPDATE`,
    values: [partnerId, slug],
  });
  return rows[0];
}

/** Locks any partner's game until the transaction ends; undefined when it is unknown or deleted. */
export async function lockGameOfAll(
  transaction: Queryable,
  slug: string,
): Promise<LockedPartnerGame | undefined> {
  const { rows } = await transaction.query<LockedPartnerGame>({
    name: "lock-game-of-all",
    text: `SELECT id, revision, current_version_id AS "currentVersionId", launcher, engine_dir AS "engineDir" FROM games
      WHERE slug = $1 AND deleted_at IS NULL FOR UPDATE`,
    values: [slug],
  });
  return rows[0];
}

/**
 * Deletes a (locked) game with its archive and picture, and abandons an upload in progress. Run it as a
 * separate statement after the lock: a statement that waits for the lock does not see what became current
 * while it waited.
 */
export async function updateGameDeleted(transaction: Queryable, gameId: string): Promise<void> {
  await transaction.query({
    name: "mark-game-deleted",
    text: `
      WITH superseded AS (
        UPDATE game_versions SET superseded_at = now() WHERE game_id = $1 AND superseded_at IS NULL
      ), hidden AS (
        UPDATE game_pictures SET superseded_at = now() WHERE game_id = $1 AND superseded_at IS NULL
      ), cut AS (
        UPDATE game_uploads SET abandoned_at = now() WHERE game_id = $1 AND abandoned_at IS NULL
      )
      UPDATE games SET deleted_at = now(), updated_at = now(), cache_revision = cache_revision + 1 WHERE id = $1`,
    values: [gameId],
  });
}

/**
 * Locks the partner's deleted game until the transaction ends and returns its id; undefined when no such game
 * can be restored.
 */
export async function lockDeletedGame(
  transaction: Queryable,
  partnerId: string,
  slug: string,
): Promise<string | undefined> {
  const { rows } = await transaction.query<{ id: string }>({
    name: "lock-deleted-game",
    text: "SELECT id FROM games WHERE partner_id = $1 AND slug = $2 AND deleted_at > now() - make_interval(days => $3::int) FOR UPDATE",
    values: [partnerId, slug, deletedGameKeptDays],
  });
  return rows[0]?.id;
}

/** Restores a (locked) game. If its archive has been removed, the game waits for a new upload. */
export async function updateGameRestored(transaction: Queryable, gameId: string): Promise<void> {
  await transaction.query({
    name: "restore-game",
    text: `
      WITH version AS (
        UPDATE game_versions v SET superseded_at = NULL FROM games g
        WHERE g.id = $1 AND v.id = g.current_version_id AND v.removed_at IS NULL AND v.removing_at IS NULL RETURNING v.id
      ), channels AS (
        UPDATE game_versions v SET superseded_at = NULL FROM game_channels c JOIN games g ON g.id = c.game_id
        WHERE c.game_id = $1 AND v.id = c.version_id AND v.id IS DISTINCT FROM g.current_version_id
      ), picture AS (
        UPDATE game_pictures p SET superseded_at = NULL FROM games g WHERE g.id = $1 AND p.id = g.picture_id
      )
      UPDATE games SET deleted_at = NULL, updated_at = now(), cache_revision = cache_revision + 1,
        current_version_id = (SELECT id FROM version),
        status = CASE WHEN EXISTS (SELECT FROM version) THEN 'active'::game_status ELSE 'pending_upload'::game_status END
      WHERE id = $1`,
    values: [gameId],
  });
}

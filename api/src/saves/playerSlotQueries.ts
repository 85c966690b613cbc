import type { SaveVersionKind } from "#contracts/http/saves.ts";
import type { Queryable } from "../stores/queryable.ts";

/** A game as far as its saves are concerned. */
export interface SavesGame {
  id: string;
  slug: string;
  /** Whether the catalogue has it: saves of a game that is gone can be taken away, but not played. */
  isListed: boolean;
  /** MiB; null for the default. */
  saveLimitMb: number | null;
}

/** A version as the database has it in JSON. */
export interface SlotVersion {
  id: string;
  kind: SaveVersionKind;
  objectKey: string;
  sha256: string;
  bytes: number;
  unpackedBytes: number | null;
  generation: number;
  storedAt: string;
  supersededAt: string | null;
  unreadableAt: string | null;
}

/** A player's slot with all its versions, the newest first. */
export interface PlayerSlot {
  id: string;
  number: number;
  /** The player's own name for it, or else the first one. */
  label: string;
  lastPlayedAt: Date;
  objectKey: string | null;
  generation: number;
  /** Status of the session that owns the slot; null when none does. */
  ownerStatus: string | null;
  versions: SlotVersion[];
}

/** Whose slots of which game. */
export interface SlotsOf {
  userId: string;
  slug: string;
}

/** One of them. */
export interface SlotOf extends SlotsOf {
  slotId: string;
}

const slotColumns = `
  s.id, s.number, COALESCE(s.custom_label, s.label) AS label, s.last_played_at AS "lastPlayedAt", s.object_key AS "objectKey", s.generation,
  (SELECT o.status FROM game_sessions o WHERE o.slot_id = s.id AND o.slot_released_at IS NULL) AS "ownerStatus",
  (SELECT COALESCE(json_agg(json_build_object('id', v.id, 'kind', v.kind, 'objectKey', v.object_key, 'sha256', v.sha256, 'bytes', v.bytes,
      'unpackedBytes', v.unpacked_bytes, 'generation', v.generation, 'storedAt', v.stored_at, 'supersededAt', v.superseded_at,
      'unreadableAt', v.unreadable_at) ORDER BY v.stored_at DESC, v.generation DESC, v.id), '[]')
    FROM save_versions v WHERE v.slot_id = s.id) AS versions`;

/** Returns a game that the player may ask about: one of the catalogue, or one that is gone and of which the player has saves. */
export async function findSavesGame(db: Queryable, { userId, slug }: SlotsOf): Promise<SavesGame | undefined> {
  const { rows } = await db.query<SavesGame>({
    name: "find-saves-game",
    text: `SELECT id, slug, "isListed", "saveLimitMb" FROM (
        SELECT g.id, g.slug, g.save_limit_mb AS "saveLimitMb", g.status = 'active' AND g.deleted_at IS NULL AS "isListed" FROM games g WHERE g.slug = $2
      ) g WHERE "isListed" OR EXISTS (SELECT FROM save_slots s WHERE s.game_id = g.id AND s.user_id = $1)`,
    values: [userId, slug],
  });
  return rows[0];
}

/** Returns the player's slots of a game, by number. */
export async function listPlayerSlots(db: Queryable, userId: string, gameId: string): Promise<PlayerSlot[]> {
  const { rows } = await db.query<PlayerSlot>({
    name: "list-player-slots",
    text: `SELECT ${slotColumns} FROM save_slots s WHERE s.user_id = $1 AND s.game_id = $2 ORDER BY s.number`,
    values: [userId, gameId],
  });
  return rows;
}

/** Returns the player's slot and its game; undefined for one that is unknown or somebody else's. */
export async function findPlayerSlot(db: Queryable, { userId, slug, slotId }: SlotOf): Promise<{ slot: PlayerSlot; game: SavesGame } | undefined> {
  const { rows } = await db.query<PlayerSlot & { game: SavesGame }>({
    name: "find-player-slot",
    text: `SELECT ${slotColumns}, json_build_object('id', g.id, 'slug', g.slug, 'saveLimitMb', g.save_limit_mb,
        'isListed', g.status = 'active' AND g.deleted_at IS NULL) AS game
      FROM save_slots s JOIN games g ON g.id = s.game_id WHERE s.id = $3 AND s.user_id = $1 AND g.slug = $2`,
    values: [userId, slug, slotId],
  });
  const [row] = rows;
  if (row === undefined) return undefined;
  const { game, ...slot } = row;
  return { slot, game };
}

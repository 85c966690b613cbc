/** SQL condition: every player sees the game `g`. A trigger keeps the column. */
export const isListed = "g.is_listed";

/**
 * Returns the condition for a game `g` that the user sees: one that is not restricted, or that a group of the
 * user may play.
 */
export function isVisibleTo(user: string): string {
  return `(NOT g.is_restricted OR ${isInGroupOf(user)})`;
}

/**
 * Returns a part of a WITH clause: the listed games that the user does not see. They are few, and with none
 * at all it costs one look at an empty index, so the catalogue's own indexes need not know about groups.
 */
export function invisibleTo(user: string): string {
  return `invisible AS MATERIALIZED (
      SELECT g.id FROM games g WHERE g.is_restricted AND ${isListed} AND NOT ${isInGroupOf(user)})`;
}

/** Condition for a game `g` that is not among those of `invisibleTo`. */
export const isNotInvisible = "g.id NOT IN (SELECT id FROM invisible)";

function isInGroupOf(user: string): string {
  return `EXISTS (SELECT FROM game_groups gg JOIN player_group_members m ON m.group_id = gg.group_id WHERE gg.game_id = g.id AND m.user_id = ${user})`;
}

/** SQL condition: every player sees the game `g`, unless it is restricted. A trigger keeps the column. */
export const isListed = "g.is_listed";

/**
 * Returns the condition for a game `g` that an admin lets the user see: one that is not restricted, or that a
 * group of the user may play. An invitation by the partner does not change that.
 */
export function isAllowedFor(user: string): string {
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

/**
 * Returns an SQL query of the channels (`game_id`, `channel`) that are open to a user by invitation, as a
 * tester or by a link. Nobody but its owner has an account's confirmed address.
 */
export function invitationsOf(user: string): string {
  return `SELECT t.game_id, t.channel FROM users u JOIN game_testers t ON t.email = u.email
      WHERE u.id = ${user} AND u.email_verified_at IS NOT NULL
    UNION ALL SELECT l.game_id, l.channel FROM play_link_players o JOIN play_links l ON l.id = o.link_id
      WHERE o.user_id = ${user} AND l.expires_at > now()`;
}

/**
 * Returns an SQL query of the channels (`name`, `version_id`) of the game `g` that the user can launch. It is
 * the only place that decides who may play what.
 */
export function openChannelsOf(user: string): string {
  return `SELECT 'default' AS name, g.current_version_id AS version_id
      WHERE g.current_version_id IS NOT NULL AND ${isAllowedFor(user)} AND (${isListed} OR ${isInvited(user, "'default'")})
    UNION ALL SELECT c.name, c.version_id FROM game_channels c
      WHERE c.game_id = g.id AND ${isAllowedFor(user)} AND ${isInvited(user, "c.name")}`;
}

/** Returns the condition for a game `g` that the user sees: it is in the catalogue or open by invitation. */
export function isVisibleTo(user: string): string {
  return `(${isListed} AND ${isAllowedFor(user)} OR EXISTS (SELECT FROM (${openChannelsOf(user)}) open))`;
}

/** Returns an SQL query of the ids of the games outside the catalogue that are open to the user. */
export function invitedGamesOf(user: string): string {
  return `SELECT g.id FROM games g WHERE g.id IN (SELECT game_id FROM (${invitationsOf(user)}) invited)
    AND NOT ${isListed} AND ${isVisibleTo(user)}`;
}

/** Returns the condition for a channel of the game `g`, which is not hidden, that is open to the user. */
function isInvited(user: string, channel: string): string {
  return `g.deleted_at IS NULL AND g.hidden_at IS NULL
    AND EXISTS (SELECT FROM (${invitationsOf(user)}) i WHERE i.game_id = g.id AND i.channel = ${channel})`;
}

function isInGroupOf(user: string): string {
  return `EXISTS (SELECT FROM game_groups gg JOIN player_group_members m ON m.group_id = gg.group_id WHERE gg.game_id = g.id AND m.user_id = ${user})`;
}

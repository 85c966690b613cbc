import type { Queryable } from "../stores/queryable.ts";

/** Selects players for an admin. */
export interface UserFilter {
  /** Part of the address or the name, in any case. */
  search: string | undefined;
  isDisabled: boolean | undefined;
  /** Only addresses after this one. */
  after: string | undefined;
  limit: number;
}

/** A player in an admin's list. */
export interface ListedUser {
  id: string;
  email: string;
  name: string;
  isEmailVerified: boolean;
  disabledAt: Date | null;
  createdAt: Date;
  /** Last use of a sign-in, to within some minutes; null before the first. */
  lastSeenAt: Date | null;
  /** The session that has not ended. */
  activeSessionId: string | null;
}

/** Returns the matching players, sorted by address. */
export async function listUsers(
  db: Queryable,
  { search, isDisabled, after, limit }: UserFilter,
): Promise<ListedUser[]> {
  const { rows } = await db.query<ListedUser>({
    text: `SELECT u.id, u.email, u.name, u.email_verified_at IS NOT NULL AS "isEmailVerified", u.disabled_at AS "disabledAt",
        u.created_at AS "createdAt",
        (SELECT max(last_seen_at) FROM auth_sessions a WHERE a.user_id = u.id) AS "lastSeenAt",
        (SELECT id FROM game_sessions s WHERE s.user_id = u.id AND s.status IN ('starting', 'running', 'stopping')) AS "activeSessionId"
      FROM users u
      WHERE ($1::text IS NULL OR strpos(lower(u.email), lower($1)) > 0 OR strpos(lower(u.name), lower($1)) > 0)
        AND ($2::bool IS NULL OR (u.disabled_at IS NOT NULL) = $2)
        AND ($3::text IS NULL OR u.email > $3)
      ORDER BY u.email LIMIT $4`,
    values: [search ?? null, isDisabled ?? null, after ?? null, limit],
  });
  return rows;
}

/** What an admin sees of a player. */
export interface UserDetails extends ListedUser {
  hasPassword: boolean;
  /** Until when a self-registered account has to be confirmed; null for others. */
  confirmBy: Date | null;
  /** When the account is deleted, because its player asked for that. */
  deleteAt: Date | null;
  /** Names of the player's groups. */
  groups: string[];
  /** Issuers of the linked accounts. */
  issuers: string[];
  /** Sign-ins that are not revoked. */
  signIns: number;
  gameSessions: number;
  playSeconds: number;
  favorites: number;
  saveSlots: number;
  /** Bytes of the slots' current saves. */
  saveBytes: number;
}

/** Returns the player with that id or normalised address; undefined if unknown. */
export async function findUserDetails(
  db: Queryable,
  { id, email }: { id: string; email: string },
): Promise<UserDetails | undefined> {
  const { rows } = await db.query<UserDetails>({
    text: `SELECT u.id, u.email, u.name, u.email_verified_at IS NOT NULL AS "isEmailVerified", u.disabled_at AS "disabledAt",
        u.created_at AS "createdAt",
        (SELECT max(last_seen_at) FROM auth_sessions a WHERE a.user_id = u.id) AS "lastSeenAt",
        (SELECT id FROM game_sessions s WHERE s.user_id = u.id AND s.status IN ('starting', 'running', 'stopping')) AS "activeSessionId",
        u.password_hash IS NOT NULL AS "hasPassword", u.confirm_by AS "confirmBy", u.delete_at AS "deleteAt",
        ARRAY(SELECT pg.name FROM player_group_members m JOIN player_groups pg ON pg.id = m.group_id WHERE m.user_id = u.id ORDER BY pg.name) AS groups,
        ARRAY(SELECT DISTINCT issuer FROM identities i WHERE i.user_id = u.id) AS issuers,
        (SELECT count(*)::int FROM auth_sessions a WHERE a.user_id = u.id AND a.revoked_at IS NULL) AS "signIns",
        (SELECT count(*)::int FROM game_sessions s WHERE s.user_id = u.id) AS "gameSessions",
        (SELECT coalesce(sum(s.duration_seconds), 0)::float8 FROM game_sessions s WHERE s.user_id = u.id) AS "playSeconds",
        (SELECT count(*)::int FROM favorites f WHERE f.user_id = u.id) AS favorites,
        (SELECT count(*)::int FROM save_slots l WHERE l.user_id = u.id) AS "saveSlots",
        (SELECT coalesce(sum(l.bytes), 0)::float8 FROM save_slots l WHERE l.user_id = u.id) AS "saveBytes"
      FROM users u WHERE u.id = $1 OR u.email = $2 ORDER BY u.id = $1 DESC LIMIT 1`,
    values: [id, email],
  });
  return rows[0];
}

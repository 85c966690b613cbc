import type { Queryable } from "../../stores/queryable.ts";

/** All rows about an account, each as JSON. */
export interface ExportedRow {
  account: unknown;
  linkedAccounts: unknown;
  signIns: unknown;
  favorites: unknown;
  saves: unknown;
  gameSessions: unknown;
  events: unknown;
}

const listMax = 10_000;

/** Formats a moment as in other responses. */
const moment = (column: string): string =>
  `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/** An array of the newest rows, each as a JSON object. */
const list = (fields: string, from: string, order: string): string =>
  `(SELECT coalesce(json_agg(json_build_object(${fields}) ORDER BY ${order}), '[]') FROM (${from} ORDER BY ${order} LIMIT ${listMax}) x)`;

/** Returns everything that is stored about the account; undefined for a deleted one. */
export async function findAccountData(db: Queryable, userId: string): Promise<ExportedRow | undefined> {
  const {
    rows: [row],
  } = await db.query<ExportedRow>({
    name: "export-account",
    text: `
      SELECT json_build_object('id', u.id, 'name', u.name, 'email', u.email, 'picture', coalesce(u.image, ''),
          'hasPassword', u.password_hash IS NOT NULL, 'emailVerifiedAt', ${moment("u.email_verified_at")},
          'createdAt', ${moment("u.created_at")}, 'streamQuality', u.stream_quality) AS account,
        ${list(
          `'issuer', x.issuer, 'subject', x.subject, 'linkedAt', ${moment("x.created_at")}`,
          "SELECT * FROM identities WHERE user_id = $1",
          "created_at DESC",
        )} AS "linkedAccounts",
        ${list(
          `'device', x.device, 'network', x.ip_prefix, 'signedInAt', ${moment("x.created_at")}, 'lastUsedAt', ${moment("x.last_seen_at")}`,
          "SELECT * FROM auth_sessions WHERE user_id = $1 AND revoked_at IS NULL",
          "last_seen_at DESC",
        )} AS "signIns",
        ${list(
          `'game', x.slug, 'since', ${moment("x.created_at")}`,
          "SELECT g.slug, f.created_at FROM favorites f JOIN games g ON g.id = f.game_id WHERE f.user_id = $1",
          "created_at DESC",
        )} AS favorites,
        ${list(
          `'game', x.slug, 'slotNumber', x.number, 'label', x.label, 'lastPlayedAt', ${moment("x.last_played_at")}, 'download',
            CASE WHEN x.version_id IS NULL THEN NULL ELSE '/api/games/' || x.slug || '/saves/' || x.id || '/versions/' || x.version_id || '/archive' END`,
          `SELECT g.slug, s.id, s.number, coalesce(s.custom_label, s.label) AS label, s.last_played_at,
             (SELECT v.id FROM save_versions v WHERE v.slot_id = s.id AND v.object_key = s.object_key ORDER BY v.stored_at DESC LIMIT 1) AS version_id
           FROM save_slots s JOIN games g ON g.id = s.game_id WHERE s.user_id = $1`,
          "last_played_at DESC",
        )} AS saves,
        ${list(
          `'id', x.id, 'game', x.slug, 'startedAt', ${moment("x.started_at")}, 'endedAt', ${moment("x.ended_at")}, 'playSeconds', x.duration_seconds`,
          "SELECT s.id, g.slug, s.started_at, s.ended_at, s.duration_seconds FROM game_sessions s JOIN games g ON g.id = s.game_id WHERE s.user_id = $1",
          "started_at DESC",
        )} AS "gameSessions",
        ${list(
          `'at', ${moment("x.at")}, 'action', x.action, 'network', x.ip_prefix, 'details', x.details`,
          "SELECT * FROM audit_events WHERE (subject_kind = 'user' AND subject_id = $1) OR (actor_kind = 'user' AND actor_id = $1)",
          "at DESC",
        )} AS events
      FROM users u WHERE u.id = $1`,
    values: [userId],
  });
  return row;
}

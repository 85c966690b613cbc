import type { UploadResponse } from "#contracts/http/gameVersions.ts";
import type { UploadRefusal } from "#contracts/http/resumableUploads.ts";
import type { StoredPart } from "../../archives/multipartUpload.ts";
import type { PartnerPrincipal } from "../../partners/requirePartner.ts";
import type { Queryable } from "../../stores/queryable.ts";

/** How an upload has ended. */
export type UploadOutcome = { result: UploadResponse } | { error: UploadRefusal };

/** An upload in chunks. */
export interface ResumableUploadRow {
  id: string;
  objectKey: string;
  /** Null until the multipart upload is open. */
  multipartId: string | null;
  length: number;
  /** `Upload-Metadata` as the client sent it. */
  metadata: string;
  /** Stored bytes. Those after the last whole part are in the tail. */
  received: number;
  tailKey: string | null;
  state: string;
  outcome: UploadOutcome | null;
  expiresAt: Date;
}

const columns = `id, object_key AS "objectKey", multipart_id AS "multipartId", length::float8 AS length, metadata,
  received::float8 AS received, tail_key AS "tailKey", state, outcome, expires_at AS "expiresAt"`;

/** An upload about to be created. */
interface NewUpload {
  id: string;
  gameId: string;
  objectKey: string;
  length: number;
  metadata: string;
  hours: number;
}

/** Stores an upload without bytes and returns when it expires. */
export async function insertResumableUpload(
  db: Queryable,
  { id, gameId, objectKey, length, metadata, hours }: NewUpload,
  { keyId, request }: PartnerPrincipal,
): Promise<Date> {
  const { rows } = await db.query<{ expiresAt: Date }>({
    name: "insert-resumable-upload",
    text: `INSERT INTO resumable_uploads (id, game_id, object_key, length, metadata, key_id, address, request_id, expires_at)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, now() + make_interval(hours => $9::int)) RETURNING expires_at AS "expiresAt"`,
    values: [id, gameId, objectKey, length, metadata, keyId, request.address, request.requestId, hours],
  });
  const [row] = rows;
  if (row === undefined) throw new Error("The upload was not stored.");
  return row.expiresAt;
}

/** Records the multipart upload of a new upload. */
export async function updateMultipartId(db: Queryable, id: string, multipartId: string): Promise<void> {
  await db.query({
    name: "set-multipart-id",
    text: "UPDATE resumable_uploads SET multipart_id = $2 WHERE id = $1",
    values: [id, multipartId],
  });
}

/** An unfinished upload of a partner. */
interface UnfinishedUpload {
  id: string;
  slug: string;
  expiresAt: Date;
}

/** Returns the partner's unfinished uploads, oldest first. */
export async function listUnfinishedUploads(db: Queryable, partnerId: string): Promise<UnfinishedUpload[]> {
  const { rows } = await db.query<UnfinishedUpload>({
    name: "unfinished-uploads",
    text: `SELECT u.id, g.slug, u.expires_at AS "expiresAt" FROM resumable_uploads u JOIN games g ON g.id = u.game_id
      WHERE g.partner_id = $1 AND g.deleted_at IS NULL AND u.state IN ('receiving', 'checking') AND u.expires_at > now()
      ORDER BY u.created_at, u.id`,
    values: [partnerId],
  });
  return rows;
}

/** Returns an upload of the game; undefined when it is unknown, ended or expired. */
export async function findResumableUpload(
  db: Queryable,
  gameId: string,
  id: string,
): Promise<ResumableUploadRow | undefined> {
  const { rows } = await db.query<ResumableUploadRow>({
    name: "resumable-upload",
    text: `SELECT ${columns} FROM resumable_uploads
      WHERE game_id = $1 AND id = $2 AND state <> 'ended' AND expires_at > now() AND multipart_id IS NOT NULL`,
    values: [gameId, id],
  });
  return rows[0];
}

/**
 * Gives the upload to a request, and takes it from any other one; undefined when the upload no longer waits
 * for bytes from this offset.
 */
export async function claimChunk(
  db: Queryable,
  { id, writer, offset }: { id: string; writer: string; offset: number },
  { keyId, request }: PartnerPrincipal,
): Promise<ResumableUploadRow | undefined> {
  const { rows } = await db.query<ResumableUploadRow>({
    name: "claim-chunk",
    text: `UPDATE resumable_uploads SET writer = $2, renewed_at = now(), key_id = $4, address = $5, request_id = $6
      WHERE id = $1 AND received = $3 AND state = 'receiving' AND expires_at > now() RETURNING ${columns}`,
    values: [id, writer, offset, keyId, request.address, request.requestId],
  });
  return rows[0];
}

/** Returns whether the request or check still has the upload, and renews its claim. */
export async function updateUploadRenewed(
  db: Queryable,
  { id, writer }: { id: string; writer: string },
): Promise<boolean> {
  const { rowCount } = await db.query({
    name: "renew-resumable-upload",
    text: `UPDATE resumable_uploads SET renewed_at = now()
      WHERE id = $1 AND writer = $2 AND state IN ('receiving', 'checking') AND expires_at > now()`,
    values: [id, writer],
  });
  return rowCount === 1;
}

/** What a request has stored. */
interface Progress {
  /** Parts that are stored in addition, without gaps. */
  parts: readonly StoredPart[];
  /** Stored bytes, with those of the tail. */
  received: number;
  tailKey: string | null;
}

/**
 * Records stored bytes. With the last one, the upload waits for its inspection for another `hours`. Returns
 * when the upload expires; undefined when another request has it.
 */
export async function updateUploadProgress(
  db: Queryable,
  { id, writer }: { id: string; writer: string },
  { parts, received, tailKey }: Progress,
  hours: number,
): Promise<Date | undefined> {
  const { rows } = await db.query<{ expiresAt: Date }>({
    name: "record-upload-progress",
    text: `WITH moved AS (
        UPDATE resumable_uploads SET received = $3, tail_key = $4, renewed_at = now(),
          state = CASE WHEN length = $3 THEN 'checking' ELSE state END,
          writer = CASE WHEN length = $3 THEN NULL ELSE writer END,
          expires_at = CASE WHEN length = $3 THEN now() + make_interval(hours => $7::int) ELSE expires_at END
        WHERE id = $1 AND writer = $2 AND state = 'receiving' AND expires_at > now() RETURNING id, expires_at
      ), stored AS (
        INSERT INTO resumable_upload_parts (upload_id, number, etag)
        SELECT m.id, p.number, p.etag FROM moved m, unnest($5::int[], $6::text[]) AS p (number, etag)
        ON CONFLICT (upload_id, number) DO UPDATE SET etag = excluded.etag
      )
      SELECT expires_at AS "expiresAt" FROM moved`,
    values: [
      id,
      writer,
      received,
      tailKey,
      parts.map(({ part }) => part),
      parts.map(({ etag }) => etag),
      hours,
    ],
  });
  return rows[0]?.expiresAt;
}

/** Returns the parts of an upload, in order. */
export async function listUploadParts(db: Queryable, id: string): Promise<StoredPart[]> {
  const { rows } = await db.query<StoredPart>({
    name: "upload-parts",
    text: "SELECT number AS part, etag FROM resumable_upload_parts WHERE upload_id = $1 ORDER BY number",
    values: [id],
  });
  return rows;
}

/** A check that is not renewed for this long has died with its process. */
const checkLeaseSeconds = 60;

/** A complete archive, and what its check has to know. */
export interface CheckedUpload {
  id: string;
  gameId: string;
  slug: string;
  objectKey: string;
  multipartId: string;
  length: number;
  metadata: string;
  /** How often the archive was inspected, with this time. */
  checks: number;
  partnerId: string;
  partnerName: string;
  keyId: string;
  address: string;
  requestId: string;
}

/** Gives a complete upload to a check; undefined when there is none, or another check has it. */
export async function claimCheck(
  db: Queryable,
  { id, writer }: { id: string; writer: string },
): Promise<CheckedUpload | undefined> {
  const { rows } = await db.query<CheckedUpload>({
    name: "claim-upload-check",
    text: `UPDATE resumable_uploads u SET writer = $2, renewed_at = now(), checks = checks + 1
      FROM games g JOIN partners p ON p.id = g.partner_id
      WHERE u.id = $1 AND g.id = u.game_id AND u.state = 'checking' AND u.expires_at > now()
        AND (u.writer IS NULL OR u.renewed_at < now() - make_interval(secs => ${checkLeaseSeconds}))
      RETURNING u.id, g.id AS "gameId", g.slug, u.object_key AS "objectKey", coalesce(u.multipart_id, '') AS "multipartId",
        u.length::float8 AS length, u.metadata, u.checks, p.id AS "partnerId", p.name AS "partnerName",
        u.key_id AS "keyId", u.address, u.request_id AS "requestId"`,
    values: [id, writer],
  });
  return rows[0];
}

/**
 * Returns complete uploads that no check has, longest untouched first. After failed checks, an upload waits
 * for a time that grows to ten minutes.
 */
export async function listUncheckedUploads(db: Queryable, max: number): Promise<string[]> {
  const { rows } = await db.query<{ id: string }>({
    name: "unchecked-uploads",
    text: `SELECT id FROM resumable_uploads WHERE state = 'checking' AND expires_at > now()
        AND CASE WHEN writer IS NULL THEN checks = 0 OR renewed_at < now() - make_interval(secs => 10 * least(checks, 60))
          ELSE renewed_at < now() - make_interval(secs => ${checkLeaseSeconds}) END
      ORDER BY renewed_at LIMIT $1`,
    values: [max],
  });
  return rows.map(({ id }) => id);
}

/** Leaves the upload to another check. One that `isWaiting` has not begun and does not count. */
export async function updateCheckLeft(
  db: Queryable,
  { id, writer }: { id: string; writer: string },
  isWaiting: boolean,
): Promise<void> {
  await db.query({
    name: "leave-upload-check",
    text: `UPDATE resumable_uploads SET writer = NULL, renewed_at = now(),
        checks = CASE WHEN $3::boolean THEN greatest(checks - 1, 0) ELSE checks END
      WHERE id = $1 AND writer = $2 AND state = 'checking'`,
    values: [id, writer, isWaiting],
  });
}

/** Records the end of a check, for `hours`; false when another check has the upload, or it was ended. */
export async function updateUploadChecked(
  db: Queryable,
  { id, writer }: { id: string; writer: string },
  outcome: UploadOutcome,
  hours: number,
): Promise<boolean> {
  const { rowCount } = await db.query({
    name: "record-upload-outcome",
    text: `UPDATE resumable_uploads SET state = $3, outcome = $4, writer = NULL, expires_at = now() + make_interval(hours => $5::int)
      WHERE id = $1 AND writer = $2 AND state = 'checking'`,
    values: [id, writer, "result" in outcome ? "done" : "refused", JSON.stringify(outcome), hours],
  });
  return rowCount === 1;
}

/** An upload whose objects are no longer needed, unless it has become a version. */
export interface EndedUpload {
  id: string;
  objectKey: string;
  isVersion: boolean;
}

const isVersion = 'EXISTS (SELECT FROM game_versions v WHERE v.id = resumable_uploads.id) AS "isVersion"';

/** Ends an upload of the game and takes it from its request or check; undefined when it is unknown. */
export async function updateUploadEnded(
  db: Queryable,
  gameId: string,
  id: string,
): Promise<EndedUpload | undefined> {
  const { rowCount } = await db.query({
    name: "end-resumable-upload",
    text: `UPDATE resumable_uploads SET state = 'ended', writer = NULL, expires_at = now()
      WHERE game_id = $1 AND id = $2 AND state <> 'ended' AND expires_at > now()`,
    values: [gameId, id],
  });
  if (rowCount === 0) return undefined;
  // A statement of its own: the first one may have waited for a check, and does not see the check's version.
  const { rows } = await db.query<EndedUpload>({
    name: "ended-resumable-upload",
    text: `SELECT id, object_key AS "objectKey", ${isVersion} FROM resumable_uploads WHERE id = $1`,
    values: [id],
  });
  return rows[0];
}

/** Requests that have lost their upload notice it within this time. */
const noticeSeconds = 120;

/**
 * Ends an upload that has expired and returns it. Skips the ids in `except`; undefined when none has. No
 * request writes to it any longer.
 */
export async function claimExpiredUpload(
  db: Queryable,
  except: readonly string[],
): Promise<EndedUpload | undefined> {
  const { rows } = await db.query<EndedUpload>({
    name: "claim-expired-upload",
    text: `UPDATE resumable_uploads SET state = 'ended', writer = NULL
      WHERE id = (SELECT id FROM resumable_uploads
        WHERE expires_at < now() - make_interval(secs => ${noticeSeconds}) AND id <> ALL ($1::text[])
        ORDER BY expires_at LIMIT 1 FOR UPDATE SKIP LOCKED)
      RETURNING id, object_key AS "objectKey", ${isVersion}`,
    values: [except],
  });
  return rows[0];
}

/** Deletes the row of an upload. */
export async function deleteResumableUpload(db: Queryable, { id }: { id: string }): Promise<void> {
  await db.query({
    name: "delete-resumable-upload",
    text: "DELETE FROM resumable_uploads WHERE id = $1",
    values: [id],
  });
}

import { randomUUID } from "node:crypto";
import { limits } from "#contracts/limits.ts";
import { archiveKey } from "#contracts/objectKeys.ts";
import { openMultipartUpload } from "../../archives/multipartUpload.ts";
import { DomainError } from "../../errors.ts";
import type { PartnerPrincipal } from "../../partners/requirePartner.ts";
import type { ObjectStore } from "../../stores/objectStore.ts";
import type { Postgres } from "../../stores/postgres.ts";
import {
  insertResumableUpload,
  listUnfinishedUploads,
  updateMultipartId,
  updateUploadEnded,
} from "./resumableQueries.ts";

const { unfinishedUploads: unfinishedMax, unfinishedUploadHours: hours } = limits.partner;

/** A new upload. */
export interface CreatedUpload {
  id: string;
  expiresAt: Date;
}

/**
 * Creates an upload of an archive of `length` bytes, which arrive in chunks.
 *
 * @throws upload_in_progress when the partner has too many unfinished uploads, unavailable
 */
export async function createUpload(
  { postgres, objectStore }: { postgres: Postgres; objectStore: ObjectStore },
  partner: PartnerPrincipal,
  { gameId, length, metadata }: { gameId: string; length: number; metadata: string },
): Promise<CreatedUpload> {
  const { pool } = postgres;
  // Concurrent creations may exceed the limit by their number, which the hourly limit bounds.
  const unfinished = await listUnfinishedUploads(pool, partner.id);
  if (unfinished.length >= unfinishedMax) throw tooManyUnfinished(unfinished);
  const id = randomUUID();
  const objectKey = archiveKey(gameId, id);
  const upload = { id, gameId, objectKey, length, metadata, hours };
  // The row comes first, so the sweeper finds the multipart upload of a process that dies here.
  const expiresAt = await insertResumableUpload(pool, upload, partner);
  try {
    await updateMultipartId(pool, id, await openMultipartUpload(objectStore, objectKey));
  } catch (error) {
    // The row stays for the sweeper, because the multipart upload may be open.
    await updateUploadEnded(pool, gameId, id).catch(() => undefined); // It expires.
    throw error;
  }
  return { id, expiresAt };
}

function tooManyUnfinished(
  unfinished: readonly { id: string; slug: string; expiresAt: Date }[],
): DomainError {
  return new DomainError("upload_in_progress", {
    message: `You have ${unfinished.length} unfinished uploads. Finish or delete one of them; \`details\` has their addresses.`,
    details: unfinished.map(({ id, slug, expiresAt }) => ({
      path: uploadPath(slug, id),
      message: `expires at ${expiresAt.toISOString()}`,
    })),
  });
}

/** Returns the path of an upload. */
export function uploadPath(slug: string, id: string): string {
  return `/api/partners/games/${slug}/uploads/${id}`;
}

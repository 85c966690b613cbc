import type { Logger } from "#runtime/logger.ts";
import { DomainError } from "../errors.ts";
import type { Postgres } from "../stores/postgres.ts";
import type { Queryable } from "../stores/queryable.ts";
import { recordWebhookEvent } from "../webhooks/eventQueries.ts";
import { findVersionArchive } from "./gameVersionQueries.ts";

/** Records the event of an accepted archive, in the transaction that stores its version. */
export async function recordUploaded(
  transaction: Queryable,
  gameId: string,
  { versionId: gameVersionId, isCurrent }: { versionId: string; isCurrent: boolean },
): Promise<void> {
  const archive = await findVersionArchive(transaction, gameVersionId);
  if (archive === undefined) return;
  const data = {
    gameVersionId,
    checksum: `sha256:${archive.sha256}`,
    size: archive.sizeBytes,
    isCurrent,
  };
  await recordWebhookEvent(transaction, gameId, { type: "version.uploaded", data });
}

/** Records the event of an archive that breaks the rules. Best effort: the response says it too. */
export async function recordRefused(
  { postgres, logger }: { postgres: Postgres; logger: Logger },
  { id, slug }: { id: string; slug: string },
  error: unknown,
): Promise<void> {
  if (!(error instanceof DomainError)) return;
  const { code: reason, message } = error;
  if (reason !== "invalid_archive" && reason !== "checksum_mismatch") return;
  const data = { gameVersionId: null, stage: "upload", reason, message } as const;
  await recordWebhookEvent(postgres.pool, id, { type: "version.failed", data }).catch((cause: unknown) =>
    logger.warn({ err: cause, game: slug }, "The API could not record the event of a refused archive."),
  );
}

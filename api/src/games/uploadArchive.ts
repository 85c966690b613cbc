import { randomUUID } from "node:crypto";
import { ArchiveRefused } from "#archive/archiveRefused.ts";
import { archiveKey } from "#contracts/objectKeys.ts";
import type { Audit } from "../audit/audit.ts";
import { DomainError } from "../errors.ts";
import { gameEvent } from "./gameAuditEvent.ts";
import type { GamePrecondition } from "./gameEtag.ts";
import type { PartnerPrincipal } from "../partners/requirePartner.ts";
import { followGameCache, type FollowDeps } from "./followGameCaches.ts";
import type { PartnerGame } from "./partnerGameStore.ts";
import { currentDigest, dropUploadLease, lockJudgedGame, switchVersion, type UploadLease } from "./uploadStore.ts";
import type { ArchiveBody } from "./upload/archiveBody.ts";
import { ArchiveStore } from "./upload/archiveStore.ts";
import type { ArchiveUpload } from "./upload/archiveUpload.ts";
import { CutOff, TooSlow, type Pace } from "./upload/bodyReader.ts";
import { ArchiveTooLarge, DigestMismatch, receiveArchive, type ReceivedArchive } from "./upload/receiveArchive.ts";
import { holdUploadLease } from "./upload/uploadLease.ts";
import { noSuchGame } from "./updateGame.ts";

/** What an upload needs. */
export interface UploadDeps extends FollowDeps {
  config: { partner: { uploadMaxBytes: number; uploadPace: Pace } };
  audit: Audit;
}

/** What a partner is told of an accepted archive. */
export interface UploadedArchive {
  sizeBytes: number;
  sha256: Buffer;
}

/** The game, and the state that the client wants it to be in when the archive takes its place. */
interface UploadTarget {
  game: PartnerGame;
  precondition: GamePrecondition | undefined;
}

/**
 * Takes an archive in and makes it the game's current version, or changes nothing at all: it becomes visible in the object
 * store only when it is whole and good, and current only with the database's commit after that. Throws upload_in_progress,
 * invalid_archive, checksum_mismatch, payload_too_large, precondition_failed, request_timeout, conflict, not_found and unavailable.
 */
export async function uploadArchive(
  deps: UploadDeps, partner: PartnerPrincipal, game: PartnerGame, body: ArchiveBody, precondition?: GamePrecondition,
): Promise<UploadedArchive> {
  precondition?.(game);
  const id = randomUUID();
  const lease = { id, gameId: game.id, objectKey: archiveKey(game.id, id) };
  const received = await holdUploadLease(deps, lease, (signal) => takeIn(deps, lease, { game, precondition }, body, signal));
  const details = { sizeBytes: received.sizeBytes, sha256: received.sha256.toString("hex") };
  await deps.audit.record(gameEvent("game.uploaded", partner, game.id, details));
  // The relay does it when this cannot.
  await followGameCache(deps, game.id).catch((error: unknown) => {
    deps.logger.warn({ err: error, game: game.slug }, "The cache of a game could not be told of its new archive yet; the relay tries again.");
  });
  return received;
}

async function takeIn(deps: UploadDeps, lease: UploadLease, { game, precondition }: UploadTarget, body: ArchiveBody, signal: AbortSignal): Promise<ReceivedArchive> {
  const archives = new ArchiveStore(deps.objectStore);
  const upload = await archives.openUpload(lease.objectKey);
  const received = await receive(deps, upload, game, body, signal).catch(async (error: unknown) => {
    // The lease stays behind, so the sweeper finds what an abort that fails leaves.
    await upload.abort().catch((cause: unknown) => deps.logger.warn({ err: cause, upload: lease.id }, "A refused upload could not be aborted."));
    throw toDomainError(error, deps.config.partner.uploadMaxBytes);
  });
  if (await currentDigest(deps.postgres.pool, game.id) === received.sha256.toString("hex")) {
    await upload.abort();
    return received;
  }
  await upload.complete();
  try {
    await commit(deps, lease, { game, precondition }, received);
  } catch (error) {
    await archives.remove(lease.objectKey).catch((cause: unknown) => {
      deps.logger.warn({ err: cause, upload: lease.id }, "A refused archive could not be removed; the sweeper tries again.");
    });
    throw error;
  }
  return received;
}

async function receive({ config }: UploadDeps, upload: ArchiveUpload, game: PartnerGame, body: ArchiveBody, signal: AbortSignal): Promise<ReceivedArchive> {
  const { uploadMaxBytes: maxBytes, uploadPace: pace } = config.partner;
  return receiveArchive({ body: body.open(), game, upload, expectedDigests: body.expectedDigests, maxBytes, pace, signal });
}

/** The lease is the fence: whoever lost it must not switch, however late it wakes up. */
async function commit({ postgres }: UploadDeps, lease: UploadLease, { game, precondition }: UploadTarget, received: ReceivedArchive): Promise<void> {
  const { sizeBytes, sha256, unpackedBytes, rootFiles, rootDirectories } = received;
  await postgres.transaction(async (transaction) => {
    if (!await dropUploadLease(transaction, lease)) throw noSuchGame(game.slug);
    const revision = await lockJudgedGame(transaction, game);
    if (revision === undefined) {
      throw new DomainError("conflict", { message: "The game was changed while its archive was on its way: upload it again." });
    }
    precondition?.({ id: game.id, revision });
    await switchVersion(transaction, {
      ...lease, sha256: sha256.toString("hex"), sizeBytes, unpackedSizeBytes: unpackedBytes, rootFiles, rootDirectories,
    });
  });
}

function toDomainError(error: unknown, maxBytes: number): unknown {
  if (error instanceof ArchiveRefused) {
    const details = error.entry === undefined ? {} : { details: [{ path: error.entry.slice(0, 256), message: error.message }] };
    return new DomainError("invalid_archive", { message: error.message, cause: error, ...details });
  }
  if (error instanceof ArchiveTooLarge) return new DomainError("payload_too_large", { message: `An archive may have at most ${maxBytes} bytes.` });
  if (error instanceof DigestMismatch) return new DomainError("checksum_mismatch", { message: error.message });
  if (error instanceof CutOff) return new DomainError("invalid_request", { message: error.message, cause: error });
  if (error instanceof TooSlow) return new DomainError("request_timeout", { message: error.message });
  return error;
}

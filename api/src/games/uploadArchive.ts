import { randomUUID } from "node:crypto";
import { gameArchiveRules } from "#archive/archiveRules.ts";
import { archiveKey } from "#contracts/objectKeys.ts";
import type { Audit } from "../audit/audit.ts";
import { DomainError } from "../errors.ts";
import type { GamePrecondition } from "./gameEtag.ts";
import { gameAuditEvent } from "./updateGame.ts";
import { recheckPartner, type PartnerPrincipal } from "../partners/requirePartner.ts";
import { syncGameCache, type SyncGameCachesDeps } from "./syncGameCaches.ts";
import type { PartnerGame } from "./partnerGameQueries.ts";
import { commitUpload, type CommittedVersion, type UploadTarget, type UploadWish } from "./commitUpload.ts";
import { findKeptVersion } from "./gameVersionQueries.ts";
import { recordRefused } from "./versionEvents.ts";
import type { SiteVerify } from "./siteVerify.ts";
import type { GameUploads } from "./upload/gameUploads.ts";
import type { UploadLease } from "./upload/uploadQueries.ts";
import type { ArchiveBody } from "../archives/archiveBody.ts";
import { ArchiveObjectStore } from "./upload/archiveObjectStore.ts";
import type { ArchiveUpload } from "../archives/archiveUpload.ts";
import type { Pace } from "../archives/bodyReader.ts";
import { toReceptionError, receiveArchive, type ReceivedArchive } from "../archives/receiveArchive.ts";
import { holdUploadLease } from "./upload/uploadLease.ts";

/** Dependencies of an upload. */
export interface UploadDeps extends SyncGameCachesDeps {
  config: { partner: { uploadMaxBytes: number; uploadPace: Pace; verify: SiteVerify } };
  audit: Audit;
  gameUploads: GameUploads;
}

/** The version that an accepted archive has become. */
export interface UploadedArchive extends CommittedVersion {
  sizeBytes: number;
  sha256: Buffer;
}

/** The archive's bytes, and a callback for the number of its names in memory. */
interface IncomingArchive {
  body: ArchiveBody;
  keepNames: (names: number) => void;
}

/**
 * Stores an archive as a version of the game and makes it current unless the wish or the game says otherwise,
 * or changes nothing. The archive becomes visible in the object store when it is complete and valid, and
 * current when the database commits after that. An archive that is kept already is not stored twice.
 *
 * @throws upload_in_progress, invalid_archive, checksum_mismatch, payload_too_large, precondition_failed,
 *   request_timeout, conflict, not_found, unavailable, and what requirePartner throws when the key was
 *   revoked or the partner suspended before the commit
 */
export async function uploadArchive(
  deps: UploadDeps,
  partner: PartnerPrincipal,
  game: PartnerGame,
  body: ArchiveBody,
  {
    wish = {},
    precondition,
    signal,
  }: { wish?: UploadWish; precondition?: GamePrecondition | undefined; signal?: AbortSignal } = {},
): Promise<UploadedArchive> {
  precondition?.(game);
  const id = randomUUID();
  const lease = { id, gameId: game.id, objectKey: archiveKey(game.id, id) };
  const target = { partner, game, wish, precondition };
  const uploaded = await deps.gameUploads.run(
    partner.id,
    (keepNames) =>
      holdUploadLease(deps, {
        lease,
        recheck: () => recheckPartner(deps.postgres.pool, partner),
        work: (leased) => storeArchive(deps, lease, target, { body, keepNames }, leased),
      }),
    signal,
  );
  await reportUpload(deps, target, uploaded);
  return uploaded;
}

/** Records an upload in the audit trail, and brings it to the nodes. */
export async function reportUpload(
  deps: Pick<UploadDeps, "audit"> & SyncGameCachesDeps,
  { partner, game }: Pick<UploadTarget, "partner" | "game">,
  uploaded: UploadedArchive,
): Promise<void> {
  const { sizeBytes, sha256, versionId, isCurrent } = uploaded;
  const details = { sizeBytes, sha256: sha256.toString("hex"), version: versionId, isCurrent };
  await deps.audit.record(gameAuditEvent("game.uploaded", partner, game.id, details));
  // If this fails, the leader's next pass does it.
  await syncGameCache(deps, game.id).catch((error: unknown) => {
    deps.logger.warn(
      { err: error, game: game.slug },
      "The API could not update a game's GameCache yet; it will retry.",
    );
  });
}

async function storeArchive(
  deps: UploadDeps,
  lease: UploadLease,
  target: UploadTarget,
  incoming: IncomingArchive,
  signal: AbortSignal,
): Promise<UploadedArchive> {
  const { game } = target;
  const archives = new ArchiveObjectStore(deps.objectStore);
  const upload = await archives.openUpload(lease.objectKey);
  const received = await receive(deps, upload, game, incoming, signal).catch(async (error: unknown) => {
    // The lease stays, so the sweeper finds the remains of a failed abort.
    await upload
      .abort()
      .catch((cause: unknown) =>
        deps.logger.warn({ err: cause, upload: lease.id }, "The API could not abort a refused upload."),
      );
    const refusal = toReceptionError(error, deps.config.partner.uploadMaxBytes);
    await recordRefused(deps, game, refusal);
    throw refusal;
  });
  const kept = await findKeptVersion(deps.postgres.pool, game.id, received.sha256.toString("hex"));
  // Partners are told to upload a lost archive again, so the same content becomes a new version.
  if (kept !== undefined && (await archives.isAsStored(kept))) {
    await upload.abort();
    return { ...received, ...(await commitUpload(deps, lease, target, { kept: kept.id })) };
  }
  await upload.complete();
  try {
    const incoming = { archive: lease, received, lost: kept?.id };
    return { ...received, ...(await commitUpload(deps, lease, target, incoming)) };
  } catch (error) {
    // After any other error it is unknown whether the archive is current. If it is not, the sweeper finds it
    // through the abandoned lease.
    if (!(error instanceof DomainError)) throw error;
    await archives.remove(lease.objectKey).catch((cause: unknown) => {
      deps.logger.warn(
        { err: cause, upload: lease.id },
        "The API could not remove a refused archive; the sweeper will retry.",
      );
    });
    throw error;
  }
}

async function receive(
  { config }: UploadDeps,
  upload: ArchiveUpload,
  game: PartnerGame,
  { body, keepNames }: IncomingArchive,
  signal: AbortSignal,
): Promise<ReceivedArchive> {
  const { uploadMaxBytes: maxBytes, uploadPace: pace } = config.partner;
  const rules = gameArchiveRules({ launcher: game.launcher, engineDir: game.engineDir });
  return receiveArchive({
    body: body.open(),
    rules,
    keepNames,
    packedTotal: body.bytes,
    upload,
    expectedDigests: body.expectedDigests,
    maxBytes,
    pace,
    signal,
  });
}

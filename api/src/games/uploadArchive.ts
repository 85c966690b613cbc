import { randomUUID } from "node:crypto";
import { gameArchiveRules } from "#archive/archiveRules.ts";
import { defaultChannel } from "#contracts/http/gameChannels.ts";
import { archiveKey } from "#contracts/objectKeys.ts";
import type { Audit } from "../audit/audit.ts";
import { DomainError } from "../errors.ts";
import { gameAuditEvent, noSuchGame } from "./updateGame.ts";
import type { GamePrecondition } from "./gameEtag.ts";
import { lockPartnerAccess, recheckPartner, type PartnerPrincipal } from "../partners/requirePartner.ts";
import { syncGameCache, type SyncGameCachesDeps } from "./syncGameCaches.ts";
import { isGameThere, type PartnerGame } from "./partnerGameQueries.ts";
import type { Queryable } from "../stores/queryable.ts";
import {
  findKeptVersion,
  insertVersion,
  lockCheckedGame,
  lockVersion,
  updateCurrentVersion,
  updateVersionTexts,
  type VersionTexts,
} from "./gameVersionQueries.ts";
import { updateChannelsReplaced } from "./channelQueries.ts";
import { setChannelVersion } from "./setChannelVersion.ts";
import type { GameUploads } from "./upload/gameUploads.ts";
import { deleteUploadLease, type UploadLease } from "./upload/uploadQueries.ts";
import type { ArchiveBody } from "../archives/archiveBody.ts";
import { ArchiveObjectStore } from "./upload/archiveObjectStore.ts";
import type { ArchiveUpload } from "../archives/archiveUpload.ts";
import type { Pace } from "../archives/bodyReader.ts";
import { toReceptionError, receiveArchive, type ReceivedArchive } from "../archives/receiveArchive.ts";
import { holdUploadLease, lostUploadLease } from "./upload/uploadLease.ts";

/** Dependencies of an upload. */
export interface UploadDeps extends SyncGameCachesDeps {
  config: { partner: { uploadMaxBytes: number; uploadPace: Pace } };
  audit: Audit;
  gameUploads: GameUploads;
}

/** What the client wants of an upload beyond the archive. */
export interface UploadWish extends VersionTexts {
  /** Whether the archive becomes current at once; undefined for what the game's partner has set. */
  autoActivate?: boolean | undefined;
  /** The channel that leads to the archive from now on, instead of `default`. */
  channel?: string | undefined;
}

/** The version that an accepted archive has become. */
export interface UploadedArchive {
  sizeBytes: number;
  sha256: Buffer;
  versionId: string;
  isCurrent: boolean;
}

/** The partner, the game, the wish, and the revision that the client expects at the commit. */
interface UploadTarget {
  partner: PartnerPrincipal;
  game: PartnerGame;
  wish: UploadWish;
  precondition: GamePrecondition | undefined;
}

/** The version that an upload is committed as. */
type CommittedVersion = Pick<UploadedArchive, "versionId" | "isCurrent">;

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
  return uploaded;
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
    throw toReceptionError(error, deps.config.partner.uploadMaxBytes);
  });
  const kept = await findKeptVersion(deps.postgres.pool, game.id, received.sha256.toString("hex"));
  // Partners are told to upload a lost archive again, so the same content becomes a new version.
  if (kept !== undefined && (await archives.isAsStored(kept))) {
    await upload.abort();
    return { ...received, ...(await commit(deps, lease, target, { kept: kept.id })) };
  }
  await upload.complete();
  try {
    const lost = kept?.id;
    return { ...received, ...(await commit(deps, lease, target, { received, lost })) };
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

/**
 * Releases the upload's lease.
 *
 * @throws not_found when the game was deleted, conflict when another upload has the lease
 */
async function releaseLease(db: Queryable, lease: UploadLease, { id, slug }: PartnerGame): Promise<void> {
  if (await deleteUploadLease(db, lease)) return;
  throw (await isGameThere(db, id)) ? lostUploadLease() : noSuchGame(slug);
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

/** A new archive, with the version whose lost archive it replaces, or the version that has the archive. */
type Incoming = { received: ReceivedArchive; lost: string | undefined } | { kept: string };

/**
 * Commits the upload as a version. The lease is the fence: an upload that has lost it must not become
 * current, however late it continues.
 */
async function commit(
  { postgres }: UploadDeps,
  lease: UploadLease,
  { partner, game, wish, precondition }: UploadTarget,
  incoming: Incoming,
): Promise<CommittedVersion> {
  return postgres.transaction(async (transaction) => {
    await lockPartnerAccess(transaction, partner);
    // Lock the game first and then its upload, like the deletion of a game; the reverse order would
    // deadlock.
    const locked = await lockCheckedGame(transaction, game);
    await releaseLease(transaction, lease, game);
    if (locked === undefined) throw changedDuringUpload();
    const { revision, autoActivate, currentVersionId } = locked;
    precondition?.({ id: game.id, revision });
    const versionId =
      "kept" in incoming
        ? await takeKeptVersion(transaction, game, incoming.kept, wish)
        : await insertReceived(transaction, lease, game, incoming.received, wish);
    const lost = "lost" in incoming ? incoming.lost : undefined;
    if (lost !== undefined) await updateChannelsReplaced(transaction, game.id, { lost, versionId });
    const isCurrent = versionId === currentVersionId;
    const isReplacing = currentVersionId !== null && lost === currentVersionId;
    const shouldActivate = !isCurrent && (isReplacing || isForPlayers(wish, autoActivate));
    if (shouldActivate) await updateCurrentVersion(transaction, game.id, versionId);
    if (wish.channel !== undefined && wish.channel !== defaultChannel)
      await setChannelVersion(transaction, game.id, wish.channel, versionId);
    return { versionId, isCurrent: isCurrent || shouldActivate };
  });
}

/** Returns whether the upload becomes what players get. */
function isForPlayers({ channel, autoActivate }: UploadWish, isUsual: boolean): boolean {
  if (channel !== undefined) return channel === defaultChannel;
  return autoActivate ?? isUsual;
}

async function insertReceived(
  transaction: Queryable,
  lease: UploadLease,
  { launcher, engineDir }: PartnerGame,
  { sizeBytes, sha256, unpackedBytes, rootFiles, rootDirectories }: ReceivedArchive,
  { label, notes }: UploadWish,
): Promise<string> {
  await insertVersion(transaction, {
    ...lease,
    sha256: sha256.toString("hex"),
    sizeBytes,
    unpackedSizeBytes: unpackedBytes,
    rootFiles,
    rootDirectories,
    launcher,
    engineDir,
    label,
    notes,
  });
  return lease.id;
}

/** Returns the version that has the archive, with the texts of this upload. */
async function takeKeptVersion(
  transaction: Queryable,
  game: PartnerGame,
  versionId: string,
  { label, notes }: UploadWish,
): Promise<string> {
  const version = await lockVersion(transaction, game.id, versionId);
  // The sweeper has claimed it since it was found.
  if (version === undefined || version.isRemoved) throw changedDuringUpload();
  await updateVersionTexts(transaction, versionId, { label, notes });
  return versionId;
}

function changedDuringUpload(): DomainError {
  return new DomainError("conflict", {
    message: "The game was changed during the upload. Upload the archive again.",
  });
}

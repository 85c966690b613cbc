import { defaultChannel } from "#contracts/http/gameChannels.ts";
import type { ReceivedArchive } from "../archives/receiveArchive.ts";
import { DomainError } from "../errors.ts";
import { lockPartnerAccess, type PartnerPrincipal } from "../partners/requirePartner.ts";
import type { Postgres } from "../stores/postgres.ts";
import type { Queryable } from "../stores/queryable.ts";
import { updateChannelsReplaced } from "./channelQueries.ts";
import type { GamePrecondition } from "./gameEtag.ts";
import {
  insertVersion,
  lockCheckedGame,
  lockVersion,
  updateCurrentVersion,
  updateVersionTexts,
  type VersionTexts,
} from "./gameVersionQueries.ts";
import { isGameThere, type PartnerGame } from "./partnerGameQueries.ts";
import { setChannelVersion } from "./setChannelVersion.ts";
import { noSuchGame } from "./updateGame.ts";
import { recordUploaded } from "./versionEvents.ts";
import { verifyModeOf, type VerifyConfig } from "./siteVerify.ts";
import { isVerifiedGood, requestVerification } from "./verificationQueries.ts";
import { lostUploadLease } from "./upload/uploadLease.ts";
import { deleteUploadLease, type UploadLease } from "./upload/uploadQueries.ts";

/** What the client wants of an upload beyond the archive. */
export interface UploadWish extends VersionTexts {
  /** Whether the archive becomes current at once; undefined for what the game's partner has set. */
  autoActivate?: boolean | undefined;
  /** The channel that leads to the archive from now on, instead of `default`. */
  channel?: string | undefined;
}

/** The partner, the game, the wish, and the revision that the client expects at the commit. */
export interface UploadTarget {
  partner: PartnerPrincipal;
  game: PartnerGame;
  wish: UploadWish;
  precondition?: GamePrecondition | undefined;
}

/** The version that an upload is committed as. */
export interface CommittedVersion {
  versionId: string;
  isCurrent: boolean;
}

/** Id and object of a version. */
export interface NewArchive {
  id: string;
  objectKey: string;
}

/** A new archive, with the version whose lost archive it replaces, or the version that has the archive. */
type Incoming =
  | { archive: NewArchive; received: ReceivedArchive; lost: string | undefined }
  | { kept: string };

/**
 * Commits an upload as a version of the game, makes it current if it should be and need not be verified
 * first, and releases the lease. The lease is the fence: an upload that has lost it must not become current,
 * however late it continues. `record` runs in the same transaction.
 *
 * @throws conflict, not_found, precondition_failed, unauthorized, forbidden, and the errors of `record`
 */
export async function commitUpload(
  { postgres, config }: { postgres: Postgres; config: VerifyConfig },
  lease: UploadLease,
  { partner, game, wish, precondition }: UploadTarget,
  incoming: Incoming,
  record?: (transaction: Queryable, committed: CommittedVersion) => Promise<void>,
): Promise<CommittedVersion> {
  return postgres.transaction(async (transaction) => {
    await lockPartnerAccess(transaction, partner);
    // Lock the game first and then its upload, like the deletion of a game; the reverse order would
    // deadlock.
    const locked = await lockCheckedGame(transaction, game);
    await releaseLease(transaction, lease, game);
    if (locked === undefined) throw changedDuringUpload();
    const { revision, autoActivate, currentVersionId } = locked;
    const verify = verifyModeOf(config, locked.verify);
    precondition?.({ id: game.id, revision });
    const versionId =
      "kept" in incoming
        ? await takeKeptVersion(transaction, game, incoming.kept, wish)
        : await insertReceived(transaction, game, incoming, wish);
    const lost = "lost" in incoming ? incoming.lost : undefined;
    if (lost !== undefined) await updateChannelsReplaced(transaction, game.id, { lost, versionId });
    const isCurrent = versionId === currentVersionId;
    const isReplacing = currentVersionId !== null && lost === currentVersionId;
    const isWanted = !isCurrent && (isReplacing || isForPlayers(wish, autoActivate));
    const mustWait =
      isWanted && !isReplacing && verify === "require" && !(await isVerifiedGood(transaction, versionId));
    const shouldActivate = isWanted && !mustWait;
    const committed = { versionId, isCurrent: isCurrent || shouldActivate };
    await recordUploaded(transaction, game.id, committed);
    if (shouldActivate) await updateCurrentVersion(transaction, game.id, versionId);
    if (wish.channel !== undefined && wish.channel !== defaultChannel)
      await setChannelVersion(transaction, game.id, wish.channel, versionId);
    if (verify !== "off")
      await requestVerification(transaction, { gameId: game.id, versionId, isRequired: mustWait }, false);
    await record?.(transaction, committed);
    return committed;
  });
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

/** Returns whether the upload becomes what players get. */
function isForPlayers({ channel, autoActivate }: UploadWish, isUsual: boolean): boolean {
  if (channel !== undefined) return channel === defaultChannel;
  return autoActivate ?? isUsual;
}

async function insertReceived(
  transaction: Queryable,
  { id: gameId, launcher, engineDir }: PartnerGame,
  { archive, received }: { archive: NewArchive; received: ReceivedArchive },
  { label, notes }: UploadWish,
): Promise<string> {
  const { sizeBytes, sha256, unpackedBytes, rootFiles, rootDirectories } = received;
  await insertVersion(transaction, {
    ...archive,
    gameId,
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
  return archive.id;
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

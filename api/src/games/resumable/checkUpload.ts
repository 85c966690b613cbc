import { randomUUID } from "node:crypto";
import { chunkBytes } from "#archive/gunzip.ts";
import { gameArchiveRules } from "#archive/archiveRules.ts";
import { limits } from "#contracts/limits.ts";
import { archiveKey } from "#contracts/objectKeys.ts";
import { partBytes } from "../../archives/archiveUpload.ts";
import { CutOff, TooSlow } from "../../archives/bodyReader.ts";
import { completeMultipartUpload } from "../../archives/multipartUpload.ts";
import { piecesAhead, receiveArchive, toReceptionError } from "../../archives/receiveArchive.ts";
import { DomainError, unavailable } from "../../errors.ts";
import type { RateLimits } from "../../http/rateLimits.ts";
import type { Metrics } from "../../metrics.ts";
import { recheckPartner, type PartnerPrincipal } from "../../partners/requirePartner.ts";
import type { ObjectStore } from "../../stores/objectStore.ts";
import { recordRefused } from "../versionEvents.ts";
import { commitUpload, type UploadTarget } from "../commitUpload.ts";
import { findKeptVersion } from "../gameVersionQueries.ts";
import { findPartnerGame } from "../partnerGameQueries.ts";
import { presentUpload } from "../present.ts";
import { noSuchGame } from "../updateGame.ts";
import { reportUpload, type UploadDeps, type UploadedArchive } from "../uploadArchive.ts";
import { ArchiveObjectStore } from "../upload/archiveObjectStore.ts";
import { holdUploadLease, lostUploadLease } from "../upload/uploadLease.ts";
import {
  claimCheck,
  listUploadParts,
  updateCheckLeft,
  updateUploadChecked,
  updateUploadRenewed,
  type CheckedUpload,
} from "./resumableQueries.ts";
import { parseUploadMetadata } from "./tusRequest.ts";
import { UploadObjects } from "./uploadObjects.ts";

/** Dependencies of checking an upload. */
export interface CheckUploadDeps extends UploadDeps {
  objectStore: ObjectStore;
  metrics: Metrics;
  rateLimits: RateLimits;
}

/** Errors that inspecting the same archive again would not change. */
const finalCodes: ReadonlySet<string> = new Set([
  "invalid_archive",
  "payload_too_large",
  "invalid_request",
  "unauthorized",
  "forbidden",
  "not_found",
]);
/** The game may change during a check, which is then repeated. After this number, a conflict is final. */
const conflictChecksMax = 3;
const { unfinishedUploadHours: hours } = limits.partner;

/**
 * Inspects a complete archive and makes it a version of its game, as an upload in one piece does. The outcome
 * is stored with the upload. A check that fails for another reason than the archive is left to a later one.
 */
export async function checkUpload(deps: CheckUploadDeps, id: string, stopping: AbortSignal): Promise<void> {
  const claim = { id, writer: randomUUID() };
  const upload = await claimCheck(deps.postgres.pool, claim);
  if (upload === undefined) return;
  try {
    const { sizeBytes } = await storeUpload(deps, upload, claim, stopping);
    deps.metrics.uploadDone("game", "stored", sizeBytes);
  } catch (error) {
    if (error instanceof DomainError && isFinal(error, upload)) await refuse(deps, upload, claim, error);
    else await leave(deps, claim, error);
  }
}

/** The request or check that has an upload. */
interface Claim {
  id: string;
  writer: string;
}

async function storeUpload(
  deps: CheckUploadDeps,
  upload: CheckedUpload,
  claim: Claim,
  stopping: AbortSignal,
): Promise<UploadedArchive> {
  const { postgres } = deps;
  const partner = partnerOf(upload);
  const game = await findPartnerGame(postgres.prisma, partner.id, upload.slug);
  if (game === null) throw noSuchGame(upload.slug);
  const target = { partner, game, wish: parseUploadMetadata(upload.metadata) };
  // The object's key is not the lease's: a lost lease must not remove the archive of an upload that goes on.
  const lease = {
    id: claim.writer,
    gameId: upload.gameId,
    objectKey: archiveKey(upload.gameId, claim.writer),
  };
  const recheck = async (): Promise<void> => {
    await recheckPartner(postgres.pool, partner);
    if (!(await updateUploadRenewed(postgres.pool, claim))) throw lostUploadLease();
  };
  const uploaded = await deps.gameUploads.run(
    partner.id,
    (keepNames) =>
      holdUploadLease(deps, {
        lease,
        recheck,
        work: async (leased) => {
          const signal = AbortSignal.any([leased, stopping]);
          const received = await inspect(deps, upload, target, keepNames, signal);
          return commit(deps, { upload, claim, lease }, target, received);
        },
      }),
    stopping,
  );
  await reportUpload(deps, target, uploaded);
  return uploaded;
}

type Received = Awaited<ReturnType<typeof receiveArchive>>;

/** Reads the archive from the object store once, with all checks of an upload in one piece. */
async function inspect(
  { postgres, objectStore, config }: CheckUploadDeps,
  { id, objectKey, multipartId, length }: CheckedUpload,
  { game }: UploadTarget,
  keepNames: (names: number) => void,
  signal: AbortSignal,
): Promise<Received> {
  const { uploadMaxBytes: maxBytes, uploadPace: pace } = config.partner;
  const parts = await listUploadParts(postgres.pool, id);
  if (parts.length !== Math.ceil(length / partBytes))
    throw new DomainError("invalid_archive", {
      message: "A part of the archive was lost on its way to the store. Upload it again.",
    });
  await completeMultipartUpload(
    objectStore,
    { key: objectKey, uploadId: multipartId, bytes: length },
    parts,
    signal,
  );
  const body = new UploadObjects(objectStore).readArchive(objectKey, length);
  try {
    return await receiveArchive({
      body,
      rules: gameArchiveRules({ launcher: game.launcher, engineDir: game.engineDir }),
      keepNames,
      packedTotal: length,
      upload: new DiscardedPieces(),
      expectedDigests: {},
      maxBytes,
      pace,
      signal,
    });
  } catch (error) {
    if (error instanceof CutOff || error instanceof TooSlow)
      throw unavailable("The archive store is temporarily unavailable. Try again in a moment.", error);
    throw toReceptionError(error, maxBytes);
  } finally {
    body.destroy();
  }
}

/** Memory for an archive that is read and not stored: enough for the pieces that are being inspected. */
class DiscardedPieces {
  readonly #memory = Array.from({ length: piecesAhead + 2 }, () => Buffer.allocUnsafeSlow(chunkBytes));
  #next = 0;

  nextPiece(): Promise<Buffer> {
    const piece = this.#memory[this.#next % this.#memory.length] ?? Buffer.alloc(0);
    this.#next += 1;
    return Promise.resolve(piece);
  }

  add(): void {
    // The object store has it.
  }
}

async function commit(
  deps: CheckUploadDeps,
  {
    upload,
    claim,
    lease,
  }: { upload: CheckedUpload; claim: Claim; lease: Parameters<typeof commitUpload>[1] },
  target: UploadTarget,
  received: Received,
): Promise<UploadedArchive> {
  const { id, objectKey, gameId, slug } = upload;
  const { pool } = deps.postgres;
  const archives = new ArchiveObjectStore(deps.objectStore);
  const kept = await findKeptVersion(pool, gameId, received.sha256.toString("hex"));
  const isKept = kept !== undefined && (await archives.isAsStored(kept));
  const committed = await commitUpload(
    deps,
    lease,
    target,
    isKept ? { kept: kept.id } : { archive: { id, objectKey }, received, lost: kept?.id },
    async (transaction, version) => {
      const result = presentUpload(slug, { ...received, ...version });
      if (!(await updateUploadChecked(transaction, claim, { result }, hours))) throw lostUploadLease();
    },
  );
  const objects = new UploadObjects(deps.objectStore);
  await (isKept ? objects.removeAll(objectKey) : objects.removeTails(objectKey)).catch((error: unknown) => {
    deps.logger.warn(
      { err: error, upload: id },
      "The API could not remove what an upload no longer needs; the sweeper will retry.",
    );
  });
  return { ...received, ...committed };
}

function isFinal({ code }: DomainError, { checks }: CheckedUpload): boolean {
  return finalCodes.has(code) || (code === "conflict" && checks >= conflictChecksMax);
}

/** Stores why the archive is refused, records the event, and removes the archive. */
async function refuse(
  deps: CheckUploadDeps,
  { objectKey, partnerId, gameId, slug }: CheckedUpload,
  claim: Claim,
  refusal: DomainError,
): Promise<void> {
  const { code, message, details } = refusal;
  const error = { error: code, message, ...(details !== undefined && { details }) };
  if (!(await updateUploadChecked(deps.postgres.pool, claim, { error }, hours))) return;
  deps.metrics.uploadDone("game", "refused");
  // Only now: a check that lost the upload must not send the event a second time.
  await recordRefused(deps, { id: gameId, slug }, refusal);
  // As for an upload in one piece: a partner finds out by trying how to pack a game.
  if (code === "invalid_archive" && (await deps.rateLimits.consume("refusedUpload", partnerId)).isAllowed)
    await deps.rateLimits.refund("upload", partnerId);
  await new UploadObjects(deps.objectStore).removeAll(objectKey).catch((cause: unknown) => {
    deps.logger.warn(
      { err: cause, upload: claim.id },
      "The API could not remove a refused archive; the sweeper will retry.",
    );
  });
}

async function leave(deps: CheckUploadDeps, claim: Claim, error: unknown): Promise<void> {
  const isWaiting = error instanceof DomainError && error.code === "upload_in_progress";
  if (!isWaiting) {
    deps.metrics.uploadDone("game", "failed");
    deps.logger.warn(
      { err: error, upload: claim.id },
      "The API could not check an upload yet; it will retry.",
    );
  }
  await updateCheckLeft(deps.postgres.pool, claim, isWaiting);
}

function partnerOf({ partnerId, partnerName, keyId, address, requestId }: CheckedUpload): PartnerPrincipal {
  return { id: partnerId, name: partnerName, keyId, request: { address, requestId } };
}

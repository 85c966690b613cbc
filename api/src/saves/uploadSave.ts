import { saveArchiveRules } from "#archive/archiveRules.ts";
import { limits, mebibyte } from "#contracts/limits.ts";
import type { ArchiveBody } from "../archives/archiveBody.ts";
import type { Pace } from "../archives/bodyReader.ts";
import { receiveArchive, toReceptionError } from "../archives/receiveArchive.ts";
import { DomainError, unavailable } from "../errors.ts";
import { fileMemory, SaveObjectStore } from "./saveObjectStore.ts";
import { importIntoNewSlot, importIntoSlot, type ImportDeps, type StoreSave } from "./importedSave.ts";
import type { SavesGame, PlayerGameRef } from "./playerSlotQueries.ts";
import {
  saveBytesMaxOf,
  emptySlotNumber,
  requireFree,
  requireListed,
  findGameSaves,
  findSlotHistory,
  type GameSaves,
  type SlotHistory,
} from "./slotHistory.ts";

/** Dependencies of an upload. */
export interface UploadSaveDeps extends ImportDeps {
  config: ImportDeps["config"] & { partner: { uploadPace: Pace } };
  saveUploads: SaveUploads;
}

/** Target of an upload: the slot with that id, or a new one. */
export interface UploadTarget extends PlayerGameRef {
  slotId?: string | undefined;
}

/** Allowance for archive headers and incompressible files, in bytes on top of the files. */
const packingBytes = limits.save.packedBytes - limits.save.unpackedBytes;

/** Limits that an upload is checked against. */
interface UploadLimits {
  packedBytesMax: number;
  unpackedBytesMax: number;
}

/** Returns the largest archive that a save of this game can be, in bytes. */
export function packedBytesMaxOf(game: Pick<SavesGame, "saveLimitMb">): number {
  return Math.min(limits.save.packedBytes, saveBytesMaxOf(game.saveLimitMb) + packingBytes);
}

/**
 * Makes an uploaded archive the save of a slot and returns the slot; a failed upload leaves nothing. The body
 * is requested only once the slot can accept it. `signal` aborts until the commit.
 *
 * @throws not_found, slot_in_use, no_empty_slot, conflict for an unavailable game or another upload of the
 *   player, payload_too_large, invalid_archive, checksum_mismatch, invalid_request for an interrupted body,
 *   request_timeout, unavailable, and the signal's reason
 */
export async function uploadSave(
  deps: UploadSaveDeps,
  { slotId, ...gameRef }: UploadTarget,
  bodyFor: (game: SavesGame) => ArchiveBody,
  signal = new AbortController().signal,
): Promise<SlotHistory> {
  const { game, slots, slot } = await findTarget(deps, { ...gameRef, slotId });
  requireListed(game);
  if (slot === undefined) emptySlotNumber(slots);
  else requireFree(slot);
  const body = bodyFor(game);
  return deps.saveUploads.run(gameRef.userId, () => {
    const store = storeOf(
      deps,
      body,
      { packedBytesMax: packedBytesMaxOf(game), unpackedBytesMax: saveBytesMaxOf(game.saveLimitMb) },
      signal,
    );
    // The client may disconnect while the end of the archive is checked and stored, when the body is no
    // longer read.
    const requireConnected = (): void => signal.throwIfAborted();
    return slot === undefined
      ? importIntoNewSlot(deps, gameRef, null, store, requireConnected)
      : importIntoSlot(deps, gameRef, slot, store, requireConnected);
  });
}

async function findTarget(
  deps: UploadSaveDeps,
  { slotId, ...gameRef }: UploadTarget,
): Promise<GameSaves & { slot?: SlotHistory }> {
  const { pool } = deps.postgres;
  return slotId === undefined
    ? findGameSaves(deps, pool, gameRef)
    : findSlotHistory(deps, pool, { ...gameRef, slotId });
}

function storeOf(
  { objectStore, logger, config }: UploadSaveDeps,
  body: ArchiveBody,
  { packedBytesMax, unpackedBytesMax }: UploadLimits,
  signal: AbortSignal,
): StoreSave {
  return async (objectKey) => {
    const upload = await new SaveObjectStore(objectStore).openUpload(objectKey);
    const memory = memoryCounter(unpackedBytesMax);
    try {
      const { sha256, sizeBytes } = await receiveArchive({
        body: body.open(),
        rules: saveArchiveRules,
        onEntry: memory.add,
        upload,
        expectedDigests: body.expectedDigests,
        maxBytes: packedBytesMax,
        pace: config.partner.uploadPace,
        signal,
      });
      await upload.complete();
      return { sha256: sha256.toString("hex"), bytes: sizeBytes, unpackedBytes: memory.bytes() };
    } catch (error) {
      await upload
        .abort()
        .catch((cause: unknown) =>
          logger.warn({ err: cause, objectKey }, "The API could not abort a refused upload of a save."),
        );
      throw toReceptionError(error, packedBytesMax);
    }
  };
}

/** Counts the memory that a save's files take on the node. */
function memoryCounter(bytesMax: number): { add: (entry: { size: number }) => void; bytes: () => number } {
  let bytes = 0;
  return {
    add: (entry) => {
      bytes += fileMemory(entry);
      if (bytes > bytesMax) {
        throw new DomainError("payload_too_large", {
          message: `The files of this save exceed ${Math.floor(bytesMax / mebibyte)} MiB, the limit of this game.`,
        });
      }
    },
    bytes: () => bytes,
  };
}

/**
 * Limits concurrent uploads of saves, because each uses the memory of several parts. One upload per player,
 * so slow uploads of one player do not block others.
 */
export class SaveUploads {
  readonly #max: number;
  readonly #uploading = new Set<string>();

  constructor(max: number) {
    this.#max = max;
  }

  /**
   * Runs `work`, which receives one upload of this player.
   *
   * @throws conflict while another upload of the player is received, unavailable when all places are taken
   */
  async run<T>(userId: string, work: () => Promise<T>): Promise<T> {
    if (this.#uploading.has(userId)) {
      throw new DomainError("conflict", {
        message: "Another of your saves is being uploaded. Wait until it is done.",
        retryAfterSeconds: 10,
      });
    }
    if (this.#uploading.size >= this.#max)
      throw unavailable("Too many saves are being uploaded right now. Try again in a moment.");
    this.#uploading.add(userId);
    try {
      return await work();
    } finally {
      this.#uploading.delete(userId);
    }
  }
}

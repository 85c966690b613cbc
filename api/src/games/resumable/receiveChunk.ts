import { randomUUID } from "node:crypto";
import type { Readable } from "node:stream";
import { limits } from "#contracts/limits.ts";
import type { Logger } from "#runtime/logger.ts";
import { ArchiveUpload, partBytes } from "../../archives/archiveUpload.ts";
import { BodyReader, CutOff, TooSlow, type Pace } from "../../archives/bodyReader.ts";
import { toReceptionError } from "../../archives/receiveArchive.ts";
import { DomainError } from "../../errors.ts";
import { HttpError } from "../../http/httpError.ts";
import { recheckPartner, type PartnerPrincipal } from "../../partners/requirePartner.ts";
import type { ObjectStore } from "../../stores/objectStore.ts";
import type { Postgres } from "../../stores/postgres.ts";
import type { GameUploads } from "../upload/gameUploads.ts";
import { renewIntervalMaxMs } from "../upload/uploadQueries.ts";
import { PartRecorder } from "./partRecorder.ts";
import {
  claimChunk,
  findResumableUpload,
  updateUploadProgress,
  updateUploadRenewed,
  type ResumableUploadRow,
} from "./resumableQueries.ts";
import { noSuchUpload } from "./endUpload.ts";
import type { ChunkCheck } from "./tusRequest.ts";
import { UploadObjects } from "./uploadObjects.ts";

/** Dependencies of receiving a chunk. */
export interface ReceiveChunkDeps {
  config: { partner: { uploadPace: Pace; uploadMaxBytes: number } };
  logger: Logger;
  postgres: Postgres;
  objectStore: ObjectStore;
  gameUploads: GameUploads;
}

/** A chunk of an archive. */
export interface Chunk {
  gameId: string;
  uploadId: string;
  /** Where the chunk starts in the archive. */
  offset: number;
  /** Asks the client to send the chunk. */
  open: () => Readable;
  check: ChunkCheck | undefined;
  /** Aborts the wait for a place. */
  signal: AbortSignal;
}

/** Bytes that the upload has after a chunk. */
export interface ReceivedChunk {
  received: number;
  isComplete: boolean;
  expiresAt: Date;
}

const { unfinishedUploadHours } = limits.partner;

/**
 * Appends a chunk to an upload. A later request for the same upload takes it from this one. Without
 * `Upload-Checksum`, the bytes of a chunk that is cut off are kept.
 *
 * @throws not_found, conflict when the offset is another or another request took the upload, chunk_mismatch,
 *   payload_too_large, invalid_request, request_timeout, upload_in_progress, unavailable, and what
 *   requirePartner throws when the key is revoked or the partner suspended in the meantime
 */
export async function receiveChunk(
  deps: ReceiveChunkDeps,
  partner: PartnerPrincipal,
  chunk: Chunk,
): Promise<ReceivedChunk> {
  return deps.gameUploads.run(
    partner.id,
    async () => {
      const claim = { id: chunk.uploadId, writer: randomUUID() };
      const upload = await claimChunk(deps.postgres.pool, { ...claim, offset: chunk.offset }, partner);
      if (upload === undefined) throw await refusalOf(deps, chunk);
      const losing = new AbortController();
      // At least twice during the time that a client may be silent.
      const intervalMs = Math.min(renewIntervalMaxMs, deps.config.partner.uploadPace.idleMs / 2);
      const timer = setInterval(() => void renew(deps, partner, claim, losing), intervalMs);
      try {
        const writer = new ChunkWriter(deps, upload, claim, losing);
        return await writer.write(chunk);
      } catch (error) {
        throw toReceptionError(error, deps.config.partner.uploadMaxBytes);
      } finally {
        clearInterval(timer);
      }
    },
    chunk.signal,
  );
}

/** Appends one chunk to an upload that it has claimed. */
class ChunkWriter {
  readonly #deps: ReceiveChunkDeps;
  readonly #upload: ResumableUploadRow;
  readonly #claim: { id: string; writer: string };
  readonly #losing: AbortController;
  readonly #objects: UploadObjects;
  /** Stored bytes in whole parts, and the tail as recorded last. */
  #wholeBytes: number;
  #tailKey: string | null;
  #isComplete = false;
  #expiresAt: Date;

  constructor(
    deps: ReceiveChunkDeps,
    upload: ResumableUploadRow,
    claim: { id: string; writer: string },
    losing: AbortController,
  ) {
    this.#deps = deps;
    this.#upload = upload;
    this.#claim = claim;
    this.#losing = losing;
    this.#objects = new UploadObjects(deps.objectStore);
    this.#wholeBytes = upload.received - (upload.received % partBytes);
    this.#tailKey = upload.tailKey;
    this.#expiresAt = upload.expiresAt;
  }

  async write({ open, check }: Chunk): Promise<ReceivedChunk> {
    const { objectKey, multipartId, length, received: before, tailKey } = this.#upload;
    const parts = this.#wholeBytes / partBytes;
    const recorder = new PartRecorder({
      firstPart: parts + 1,
      // Nothing of a chunk counts before its digest is checked.
      isHeld: check !== undefined,
      store: (stored) => this.#record(stored, 0, null),
      onFailure: (error) => this.#losing.abort(error),
    });
    const tailBytes = before - this.#wholeBytes;
    const upload = ArchiveUpload.resume(this.#deps.objectStore, {
      key: objectKey,
      uploadId: multipartId ?? "",
      parts,
      tail: tailKey === null ? Buffer.alloc(0) : await this.#objects.readTail(tailKey, tailBytes),
      onStored: (part) => recorder.add(part),
    });
    try {
      const { bytes, failure } = await this.#read(upload, open(), check);
      if (failure !== undefined && check !== undefined) throw failure;
      check?.finish();
      const received = before + bytes;
      if (received === length) upload.sendTail();
      const tail = received === length ? Buffer.alloc(0) : upload.tail;
      const key = tail.length === 0 ? null : await this.#objects.putTail(objectKey, received, tail);
      await upload.settle();
      const rest = await recorder.take();
      // The last whole part may have completed the archive.
      if (bytes > 0 && !this.#isComplete) await this.#record(rest, received, key);
      if (failure !== undefined) throw failure;
      return { received, isComplete: received === length, expiresAt: this.#expiresAt };
    } catch (error) {
      throw this.#losing.signal.aborted ? this.#losing.signal.reason : error;
    } finally {
      await upload.close();
    }
  }

  /** Reads the chunk into the parts. A client that stops does not throw, because what came before counts. */
  async #read(
    upload: ArchiveUpload,
    body: Readable,
    check: ChunkCheck | undefined,
  ): Promise<{ bytes: number; failure?: CutOff | TooSlow }> {
    const { length, received } = this.#upload;
    const reader = new BodyReader(body, this.#deps.config.partner.uploadPace, this.#losing.signal);
    let bytes = 0;
    const add = (piece: Buffer): void => {
      bytes += piece.length;
      if (received + bytes > length) throw tooLong(length);
      check?.update(piece);
      upload.add(piece);
    };
    try {
      for (;;) {
        const memory = await upload.nextPiece();
        try {
          const piece = memory.subarray(0, await reader.fill(memory));
          if (piece.length === 0) return { bytes };
          add(piece);
        } catch (error) {
          if (!(error instanceof CutOff || error instanceof TooSlow)) throw error;
          if (reader.partialBytes > 0) add(memory.subarray(0, reader.partialBytes));
          return { bytes, failure: error };
        }
      }
    } finally {
      reader.close();
    }
  }

  /**
   * Records parts, or with `received` the whole chunk.
   *
   * @throws conflict when another request has the upload
   */
  async #record(
    parts: Parameters<typeof updateUploadProgress>[2]["parts"],
    received: number,
    tailKey: string | null,
  ): Promise<void> {
    this.#wholeBytes += parts.length * partBytes;
    const { length } = this.#upload;
    // The last part is shorter.
    const whole = Math.min(this.#wholeBytes, length);
    const progress = { parts, received: received === 0 ? whole : received, tailKey };
    const { pool } = this.#deps.postgres;
    const expiresAt = await updateUploadProgress(pool, this.#claim, progress, unfinishedUploadHours);
    if (expiresAt === undefined) throw lostUpload();
    this.#expiresAt = expiresAt;
    this.#isComplete = progress.received === length;
    const replaced = this.#tailKey;
    this.#tailKey = tailKey;
    if (replaced === null || replaced === tailKey) return;
    await this.#objects.removeTail(replaced).catch((error: unknown) => {
      // It is removed with the upload.
      this.#deps.logger.debug({ err: error, upload: this.#claim.id }, "The API could not remove a tail yet.");
    });
  }
}

async function renew(
  { postgres, logger }: ReceiveChunkDeps,
  partner: PartnerPrincipal,
  claim: { id: string; writer: string },
  losing: AbortController,
): Promise<void> {
  try {
    await recheckPartner(postgres.pool, partner);
    if (!(await updateUploadRenewed(postgres.pool, claim))) losing.abort(lostUpload());
  } catch (error) {
    if (error instanceof DomainError) losing.abort(error);
    else
      logger.warn(
        { err: error, upload: claim.id },
        "The API could not renew a chunk's claim; it will retry.",
      );
  }
}

/** Returns why the upload takes no chunk from this offset. */
async function refusalOf(
  { postgres }: ReceiveChunkDeps,
  { gameId, uploadId, offset }: Chunk,
): Promise<DomainError> {
  const upload = await findResumableUpload(postgres.pool, gameId, uploadId);
  if (upload === undefined) return noSuchUpload(uploadId);
  const { received, length, state } = upload;
  const message =
    state === "receiving"
      ? `The upload continues at ${received}, not at ${offset}.`
      : `All ${length} bytes of the archive have arrived.`;
  return new HttpError("conflict", { message, headers: { "Upload-Offset": String(received) } });
}

function lostUpload(): DomainError {
  return new DomainError("conflict", {
    message: "Another request continues this upload, or it was ended. Ask for its offset with HEAD.",
  });
}

/** Returns the 413 for bytes beyond the end of the archive. */
export function tooLong(length: number): DomainError {
  return new DomainError("payload_too_large", {
    message: `The chunk goes beyond the end of the archive, which has ${length} bytes.`,
  });
}

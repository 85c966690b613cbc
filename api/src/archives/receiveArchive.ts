import { createHash } from "node:crypto";
import type { Readable } from "node:stream";
import { type ArchiveRules, ArchiveRefused } from "#archive/archiveRules.ts";
import { ArchiveInspection, type InspectedArchive, type InspectionOptions } from "./archiveInspection.ts";
import type { ArchiveUpload } from "./archiveUpload.ts";
import { BodyReader, type Pace, CutOff, TooSlow } from "./bodyReader.ts";
import { DigestCheck, type ExpectedDigests } from "./contentDigest.ts";
import { DomainError } from "../errors.ts";

/**
 * Number of pieces that may wait for the gunzip thread, so that it stays busy. Fewer than the upload keeps in
 * memory.
 */
export const piecesAhead = 4;

/** An archive that is complete and valid; `sha256` is of the packed bytes. */
export interface ReceivedArchive extends InspectedArchive {
  sizeBytes: number;
  sha256: Buffer;
}

/** The body exceeds the maximum archive size. */
class ArchiveTooLarge extends Error {
  override readonly name = "ArchiveTooLarge";
}

/** The body's digest differs from the announced one. */
class DigestMismatch extends Error {
  override readonly name = "DigestMismatch";
}

/** Dependencies and limits of a reception. */
interface ReceiveOptions extends InspectionOptions {
  body: Readable;
  rules: ArchiveRules;
  /** The upload that stores the bytes; the caller completes or aborts it. */
  upload: Pick<ArchiveUpload, "nextPiece" | "add">;
  expectedDigests: ExpectedDigests;
  maxBytes: number;
  pace: Pace;
  /** Aborts the reception with the signal's reason. */
  signal: AbortSignal;
}

/**
 * Reads a body once: each piece is counted, hashed, inspected and stored before the next is read, so that
 * memory stays constant and the client sends no faster than the object store accepts.
 *
 * @throws ArchiveRefused, ArchiveTooLarge, DigestMismatch, CutOff, TooSlow
 */
export async function receiveArchive({
  body,
  rules,
  onEntry,
  keepNames,
  packedTotal,
  upload,
  expectedDigests,
  maxBytes,
  pace,
  signal,
}: ReceiveOptions): Promise<ReceivedArchive> {
  const inspection = new ArchiveInspection(rules, { onEntry, keepNames, packedTotal });
  const sha256 = createHash("sha256");
  const digests = new DigestCheck(expectedDigests);
  const reader = new BodyReader(body, pace, signal);
  let sizeBytes = 0;
  try {
    const inspecting: Promise<void>[] = [];
    for (;;) {
      const memory = await upload.nextPiece();
      const piece = memory.subarray(0, await reader.fill(memory));
      if (piece.length === 0) break;
      sizeBytes += piece.length;
      if (sizeBytes > maxBytes) throw new ArchiveTooLarge(`The archive is larger than ${maxBytes} bytes.`);
      sha256.update(piece);
      digests.update(piece);
      // The gunzip thread and the object store work while the next piece is read and hashed.
      if (inspecting.length === piecesAhead) await inspecting.shift();
      const inspected = inspection.write(piece);
      inspected.catch(() => undefined); // Thrown when it is awaited.
      inspecting.push(inspected);
      upload.add(piece);
    }
    await Promise.all(inspecting);
    const digest = sha256.digest();
    const mismatch = digests.mismatch(digest);
    if (mismatch !== undefined)
      throw new DigestMismatch(`The body's ${mismatch} does not match the announced one. Send it again.`);
    return { ...(await inspection.finish()), sizeBytes, sha256: digest };
  } finally {
    reader.close();
    inspection.close();
  }
}

/**
 * Translates an error of `receiveArchive` for the client: invalid_archive, payload_too_large (over
 * `maxBytes`), checksum_mismatch, invalid_request or request_timeout. Returns other errors unchanged.
 */
export function toReceptionError(error: unknown, maxBytes: number): unknown {
  if (error instanceof ArchiveRefused) {
    const details = error.refusals.flatMap(({ entry, message }) =>
      entry === undefined ? [] : [{ path: entry.slice(0, 256), message }],
    );
    return new DomainError("invalid_archive", {
      message: error.message,
      cause: error,
      ...(details.length === 0 ? {} : { details }),
    });
  }
  if (error instanceof ArchiveTooLarge)
    return new DomainError("payload_too_large", {
      message: `An archive may have at most ${maxBytes} bytes.`,
    });
  if (error instanceof DigestMismatch)
    return new DomainError("checksum_mismatch", { message: error.message });
  if (error instanceof CutOff)
    return new DomainError("invalid_request", { message: error.message, cause: error });
  if (error instanceof TooSlow) return new DomainError("request_timeout", { message: error.message });
  return error;
}

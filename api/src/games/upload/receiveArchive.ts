import { createHash } from "node:crypto";
import type { Readable } from "node:stream";
import { ArchiveInspection, type InspectedArchive } from "./archiveInspection.ts";
import type { ArchiveUpload } from "./archiveUpload.ts";
import { BodyReader, type Pace } from "./bodyReader.ts";
import { DigestCheck, type ExpectedDigests } from "./contentDigest.ts";

/** Pieces that the gunzip thread may have before it: on a busy machine it need not wait for its turn. Fewer than the upload keeps. */
const piecesAhead = 4;

/** An archive that came whole and is good; `sha256` is of the packed bytes. */
export interface ReceivedArchive extends InspectedArchive {
  sizeBytes: number;
  sha256: Buffer;
}

/** The body is longer than archives may be. */
export class ArchiveTooLarge extends Error {
  override readonly name = "ArchiveTooLarge";
}

/** The body is not what its digest header announced. */
export class DigestMismatch extends Error {
  override readonly name = "DigestMismatch";
}

export interface ReceiveOptions {
  body: Readable;
  game: { launcher: string; engineDir: string };
  /** Whose memory the bytes come into, and where they go; completing or aborting it stays with the caller. */
  upload: Pick<ArchiveUpload, "nextPiece" | "add">;
  expectedDigests: ExpectedDigests;
  maxBytes: number;
  pace: Pace;
  /** Ends the reception with its reason. */
  signal: AbortSignal;
}

/**
 * Reads a body once: counts, hashes, judges and stores each piece before the next is read, so that memory stays flat and
 * the sender is slowed to what the store takes. Throws ArchiveRefused, ArchiveTooLarge, DigestMismatch, CutOff, TooSlow.
 */
export async function receiveArchive({
  body, game, upload, expectedDigests, maxBytes, pace, signal,
}: ReceiveOptions): Promise<ReceivedArchive> {
  const inspection = new ArchiveInspection(game);
  const sha256 = createHash("sha256");
  const digests = new DigestCheck(expectedDigests);
  const reader = new BodyReader(body, pace, signal);
  let sizeBytes = 0;
  try {
    const judging: Promise<void>[] = [];
    for (;;) {
      const memory = await upload.nextPiece();
      const piece = memory.subarray(0, await reader.fill(memory));
      if (piece.length === 0) break;
      sizeBytes += piece.length;
      if (sizeBytes > maxBytes) throw new ArchiveTooLarge(`The archive is larger than ${maxBytes} bytes.`);
      sha256.update(piece);
      digests.update(piece);
      // The gunzip thread and the store work while the next piece is read and hashed.
      if (judging.length === piecesAhead) await judging.shift();
      const judged = inspection.write(piece);
      judged.catch(() => undefined); // Told when its turn comes.
      judging.push(judged);
      upload.add(piece);
    }
    await Promise.all(judging);
    const digest = sha256.digest();
    const mismatch = digests.mismatch(digest);
    if (mismatch !== undefined) throw new DigestMismatch(`The body's ${mismatch} is not the announced one; send it again.`);
    return { ...await inspection.finish(), sizeBytes, sha256: digest };
  } finally {
    reader.close();
    inspection.close();
  }
}

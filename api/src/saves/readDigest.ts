import { createHash } from "node:crypto";
import type { Readable } from "node:stream";

/** What a save turned out to be when all of it was read. */
export interface SaveDigest {
  /** In hex. */
  sha256: string;
  bytes: number;
}

/**
 * Reads a save to its end and returns what it is; undefined as soon as it is larger than `bytesMax`.
 * `onPiece` is awaited with each piece.
 */
export async function readDigest(
  save: Readable,
  bytesMax: number,
  onPiece?: (piece: Buffer) => Promise<void>,
): Promise<SaveDigest | undefined> {
  const hash = createHash("sha256");
  let bytes = 0;
  for await (const piece of save as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > bytesMax) return undefined;
    hash.update(piece);
    await onPiece?.(piece);
  }
  return { sha256: hash.digest("hex"), bytes };
}

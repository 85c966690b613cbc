import { DomainError } from "../errors.ts";
import type { Metrics, UploadKind } from "../metrics.ts";

/**
 * Runs an upload, and counts how it ended and how large the stored archive is. Returns or throws what the
 * upload does.
 */
export async function countUpload<T>(
  metrics: Pick<Metrics, "uploadDone">,
  kind: UploadKind,
  upload: () => Promise<T>,
  bytesOf: (stored: T) => number,
): Promise<T> {
  try {
    const stored = await upload();
    metrics.uploadDone(kind, "stored", bytesOf(stored));
    return stored;
  } catch (error) {
    const isOurs = !(error instanceof DomainError) || error.code === "unavailable";
    metrics.uploadDone(kind, isOurs ? "failed" : "refused");
    throw error;
  }
}

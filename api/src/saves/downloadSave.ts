import { pipeline, type Readable } from "node:stream";
import type { Logger } from "#runtime/logger.ts";
import { createDigestGate, openSave } from "./savedObject.ts";
import { readableVersion, type ReadableVersionDeps } from "./readableVersion.ts";
import { unreadableSave } from "./saveVersion.ts";
import type { SaveVersion } from "./saveVersionQueries.ts";
import type { SlotHistory } from "./slotHistory.ts";

/** A version on its way to whom it belongs. */
export interface SaveDownload {
  version: SaveVersion;
  /** Ends with an error when the bytes turn out to be others: the last of them is then missing. */
  stream: Readable;
}

/**
 * Opens a version for its player. It is read twice: once before anything is sent, so that a damaged one can
 * still be refused, and once as it is sent. Throws not_found, unreadable_save, conflict while too many saves
 * of the player are read, and unavailable.
 */
export async function downloadSave(
  deps: ReadableVersionDeps,
  userId: string,
  slot: SlotHistory,
  versionId: string,
): Promise<SaveDownload> {
  const version = await readableVersion(deps, userId, slot, versionId);
  const source = await openSave(deps.objectStore, version);
  if (source === undefined) throw unreadableSave(slot, version);
  return { version, stream: gated(deps.logger, source, version) };
}

function gated(logger: Logger, source: Readable, version: SaveVersion): Readable {
  const gate = createDigestGate(version);
  pipeline(source, gate, (error) => {
    // Clients that go away are nothing to report.
    if (error && error.code !== "ERR_STREAM_PREMATURE_CLOSE")
      logger.warn({ err: error, objectKey: version.objectKey }, "A download of a save was cut.");
  });
  return gate;
}

/** Returns the name of the file that a version is downloaded as. */
export function downloadName(
  slug: string,
  { number }: Pick<SlotHistory, "number">,
  { storedAt }: Pick<SaveVersion, "storedAt">,
): string {
  return `${slug}-slot${number}-${storedAt.toISOString().slice(0, 19).replace(/[-:]/g, "").replace("T", "-")}.tar.gz`;
}

import { mkdirSync } from "node:fs";
import { spoolNames } from "#contracts/nodeLayout.ts";
import { parseOrder } from "../spool/restoreOrder.ts";
import { readSmallFile } from "../spool/spoolFiles.ts";
import { isRestored, pathExists, writeReport, restorePaths, publishDraft } from "./restorePaths.ts";

/** The session's save volume, spool and uid. */
export interface NewPlaythrough {
  saveVolume: string;
  spool: string;
  uid: string;
}

/**
 * Creates the empty save directory of a session that starts anew, in the steps of a restore; returns whether
 * it did. The streamer does this itself, because a launch would wait for a packer to start; one that starts
 * later finds the report. Anything unusual is left to the packer.
 */
export function beginNewPlaythrough({ saveVolume, spool, uid }: NewPlaythrough): boolean {
  const paths = restorePaths({ saveVolume, spool });
  try {
    const order = parseOrder(readSmallFile(`${spool}/${spoolNames.order}`) ?? "");
    if (order?.uid !== uid || order.save !== undefined) return false;
    if (isRestored(paths) || pathExists(`${spool}/${spoolNames.report}`)) return false;
    mkdirSync(paths.draft, { mode: 0o700 });
    writeReport(paths, { version: 1, uid });
    publishDraft(paths);
    return true;
  } catch {
    return false; // The packer meets the same error, and reports it.
  }
}

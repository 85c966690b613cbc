import { mkdirSync } from "node:fs";
import { spoolNames } from "#contracts/nodeLayout.ts";
import { parseOrder } from "../spool/order.ts";
import { readSmallFile } from "../spool/spoolFiles.ts";
import { isThere, reportRestore, restorePlace, revealDraft } from "./restorePlace.ts";

export interface NewPlaythrough {
  saveVolume: string;
  spool: string;
  uid: string;
}

/**
 * Makes the empty save directory of a session that starts anew, in the steps of a restore; returns whether it did. The streamer does this itself,
 * as a launch would wait for a packer to start; one that starts later finds the report. Anything unusual is left to the packer.
 */
export function beginNewPlaythrough({ saveVolume, spool, uid }: NewPlaythrough): boolean {
  const place = restorePlace({ saveVolume, spool });
  try {
    const order = parseOrder(readSmallFile(`${spool}/${spoolNames.order}`) ?? "");
    if (order?.uid !== uid || order.save !== undefined) return false;
    if ([place.saveDirectory, place.draft, `${spool}/${spoolNames.report}`].some(isThere)) return false;
    mkdirSync(place.draft, { mode: 0o700 });
    reportRestore(place, { version: 1, uid });
    revealDraft(place);
    return true;
  } catch {
    return false; // The packer meets the same, and tells of it.
  }
}

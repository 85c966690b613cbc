import { lstatSync, mkdirSync, renameSync } from "node:fs";
import { spoolNames } from "#contracts/nodeLayout.ts";
import type { RestoreReport } from "#contracts/spool.ts";
import { parseOrder } from "../spool/order.ts";
import { readSmallFile, writeWhole } from "../spool/spoolFiles.ts";

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
  const [directory, draft] = [`${saveVolume}/save`, `${saveVolume}/.restoring`];
  try {
    const order = parseOrder(readSmallFile(`${spool}/${spoolNames.order}`) ?? "");
    if (order?.uid !== uid || order.save !== undefined) return false;
    if ([directory, draft, `${spool}/${spoolNames.report}`].some((path) => lstatSync(path, { throwIfNoEntry: false }) !== undefined)) return false;
    mkdirSync(draft, { mode: 0o700 });
    writeWhole(`${spool}/${spoolNames.report}`, { version: 1, uid } satisfies RestoreReport);
    renameSync(draft, directory);
    return true;
  } catch {
    return false; // The packer meets the same, and tells of it.
  }
}

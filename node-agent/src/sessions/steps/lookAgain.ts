import { readSpool } from "../../spool/readSpool.ts";
import type { RecordContext } from "./step.ts";

/** Reads the spool anew, for what was packed since the pass's first look at it. Throws SpoolUnreadable. */
export async function lookAgain<Context extends RecordContext>(context: Context): Promise<Context> {
  const { deps, record, world } = context;
  if (world.unreadable !== undefined) return context;
  return { ...context, world: { ...world, spool: await readSpool(deps.files.folder(record.gameSession), record.uid) } };
}

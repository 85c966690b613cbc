import { readSpool } from "../../spool/readSpool.ts";
import type { RecordContext } from "./step.ts";

/** Reads the spool anew, for what was packed since the pass's first look at it. Throws SpoolUnreadable. */
export async function lookAgain<Context extends RecordContext>(context: Context): Promise<Context> {
  const { deps: { files, readFailures }, record: { gameSession, uid }, world } = context;
  if (world.unreadable !== undefined) return context;
  const spool = await readFailures.during(gameSession, "words", () => readSpool(files.folder(gameSession), uid));
  return { ...context, world: { ...world, spool } };
}

import { readSpool, type Spool } from "../../spool/readSpool.ts";
import type { SessionRecord } from "../record.ts";
import type { RecordContext, SessionDeps } from "./step.ts";

/** Returns what the packer has said of the session. Throws SpoolUnreadable, and what may pass as it is. */
export function readSpoolOf(
  { files, readFailures }: SessionDeps,
  { gameSession, uid }: SessionRecord,
): Promise<Spool> {
  return readFailures.during(gameSession, "words", () => readSpool(files.folder(gameSession), uid));
}

/** Reads the spool anew, for what was packed since the pass's first look at it. Throws SpoolUnreadable. */
export async function lookAgain<Context extends RecordContext>(context: Context): Promise<Context> {
  const { deps, record, world } = context;
  if (world.unreadable !== undefined) return context;
  return { ...context, world: { ...world, spool: await readSpoolOf(deps, record) } };
}

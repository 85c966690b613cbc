import { AdminError, exitCodes } from "../adminError.ts";
import type { Installation } from "../cluster/installation.ts";
import { planEnds, unfinishedSessions } from "./plannedEnds.ts";

/**
 * Plans the end of these sessions and tells their players. Returns a sentence about it.
 *
 * @throws AdminError if a session was not found or has ended.
 */
export async function planStops(
  installation: Installation,
  names: readonly string[],
  inMs: number,
): Promise<string> {
  const sessions = await unfinishedSessions(installation, ({ metadata }) => names.includes(metadata.name));
  const known = new Set(sessions.map(({ metadata }) => metadata.name));
  const missing = names.filter((name) => !known.has(name));
  if (missing.length > 0)
    throw new AdminError(
      `Not found, or already over: ${missing.join(", ")}. Run \`kubectl joypod sessions\` for a list.`,
      exitCodes.notFound,
    );
  const at = new Date(installation.now().getTime() + inMs).toISOString();
  await planEnds(installation, sessions, { at, reason: "Deleted" });
  return `${names.join(", ")}: stopped at ${at}, after the save is stored. The players were told.`;
}

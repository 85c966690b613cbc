import type { Logger } from "#runtime/logger.ts";
import { updateOverlongGameSessionsStopping } from "./gameSessionLifecycleQueries.ts";
import type { Postgres } from "../stores/postgres.ts";

/** What looking for overlong sessions needs. */
export interface SweepOverlongDeps {
  logger: Logger;
  postgres: Postgres;
}

/**
 * Stops sessions that have lasted as long as they may in the database and returns their ids; the recorder
 * then stops them in the cluster.
 */
export async function sweepOverlong({ postgres, logger }: SweepOverlongDeps): Promise<string[]> {
  const ids = await updateOverlongGameSessionsStopping(postgres.pool);
  for (const id of ids)
    logger.info({ gameSession: id }, "The sweeper stopped a game session at its longest duration.");
  return ids;
}

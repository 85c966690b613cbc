import {
  findIdleGameSessions,
  updateGameSessionKeptAlive,
  updateIdleGameSessionsStopping,
  updateOverlongGameSessionsStopping,
} from "../recording/lifecycleQueries.ts";
import { keptAliveUntil } from "./keepGameSessionAlive.ts";
import type { Deps } from "../../deps.ts";

/** Longer than the interval between two passes, including jitter. */
const maxGapSeconds = 10;

/**
 * Marks idle sessions as stopping in the database and returns their ids; the recorder then stops them in the
 * cluster. Time without keepalive processing does not count as idle: no session is stopped right after an
 * outage, nor one that only the cluster knows to be alive.
 */
export async function sweepIdle({
  postgres: { pool },
  cluster,
  logger,
}: Pick<Deps, "logger" | "postgres" | "cluster">): Promise<string[]> {
  const { idle, gapSeconds } = await findIdleGameSessions(pool, maxGapSeconds);
  if (gapSeconds > maxGapSeconds)
    logger.info(
      { seconds: gapSeconds },
      "Idle game sessions were not checked during this time; all restart their idle timeout.",
    );
  const silent: string[] = [];
  for (const { id, expiresAt } of idle) {
    const until = keptAliveUntil(cluster.gameSession(id));
    if (until > expiresAt) await updateGameSessionKeptAlive(pool, id, until);
    else silent.push(id);
  }
  const stopped = silent.length === 0 ? [] : await updateIdleGameSessionsStopping(pool, silent);
  for (const id of stopped) logger.info({ gameSession: id }, "The sweeper stopped an idle game session.");
  return stopped;
}

/**
 * Marks sessions that have reached their maximum duration as stopping in the database and returns their ids;
 * the recorder then stops them in the cluster.
 */
export async function sweepOverlong({
  postgres,
  logger,
}: Pick<Deps, "logger" | "postgres">): Promise<string[]> {
  const ids = await updateOverlongGameSessionsStopping(postgres.pool);
  for (const id of ids)
    logger.info({ gameSession: id }, "The sweeper stopped a game session at its longest duration.");
  return ids;
}

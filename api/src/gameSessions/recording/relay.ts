import { isRefused } from "#kube/api/errors.ts";
import type { Queryable } from "../../stores/queryable.ts";
import { recordLaunchFailure } from "./recordFailures.ts";
import {
  lockUncreatedGameSession,
  updateGameSessionCreated,
  type UncreatedGameSession,
} from "./lifecycleQueries.ts";
import type { Deps } from "../../deps.ts";

type RelayDeps = Pick<Deps, "logger" | "postgres" | "cluster" | "gameSessionWriter">;

/** Launches create their objects themselves; after this time the relay creates a missing one. */
const graceSeconds = 3;
const sessionsPerPassMax = 50;

/**
 * Creates the objects of launches that died before creating them, one locked row at a time; rows locked by
 * another relay are skipped. A launch whose deadline has passed, or whose object the cluster rejects, fails,
 * so that its player can launch again.
 */
export async function relayGameSessions(deps: RelayDeps): Promise<void> {
  for (let count = 0; count < sessionsPerPassMax; count++) {
    const outcome = await deps.postgres.transaction((transaction) => relayOldest(deps, transaction));
    if (outcome === "none") return;
    if (outcome !== "created") await recordLaunchFailure(deps, outcome.failedId, outcome.message);
  }
}

type Outcome = "none" | "created" | { failedId: string; message: string };

async function relayOldest(
  { cluster, gameSessionWriter, logger }: RelayDeps,
  transaction: Queryable,
): Promise<Outcome> {
  const session = await lockUncreatedGameSession(transaction, graceSeconds);
  if (session === undefined) return "none";
  const { id, spec } = session;
  if (cluster.gameSession(id) !== undefined) {
    // Its launch created it, but an outage kept the recorder from noting that. It may have been played.
    await updateGameSessionCreated(transaction, id);
    return "created";
  }
  if (isTooLate(session))
    return { failedId: id, message: "The cluster was unreachable until the start deadline." };
  try {
    await gameSessionWriter.create(id, spec);
  } catch (error) {
    if (!isRefused(error)) throw error;
    // A retry would be rejected again and delay the launches behind it.
    logger.error(
      { err: error, gameSession: id },
      "The Kubernetes API rejected a game session that the relay tried to create.",
    );
    return { failedId: id, message: "The cluster rejected the session." };
  }
  await updateGameSessionCreated(transaction, id);
  logger.info({ gameSession: id }, "The relay created a missing game session.");
  return "created";
}

function isTooLate({ ageSeconds, spec }: UncreatedGameSession): boolean {
  return ageSeconds > spec.startDeadlineSeconds;
}

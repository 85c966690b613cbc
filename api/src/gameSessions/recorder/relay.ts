import type { Logger } from "#runtime/logger.ts";
import type { ClusterView } from "../../cluster/clusterView.ts";
import type { GameSessionWriter } from "../../cluster/gameSessionWriter.ts";
import type { Postgres } from "../../stores/postgres.ts";
import { recordLaunchFailure } from "../recordLaunchFailure.ts";
import { lockUncreatedGameSession, type UncreatedGameSession } from "../gameSessionLifecycleQueries.ts";
import { updateGameSessionCreated } from "../gameSessionLifecycleQueries.ts";

/** What creating missing objects needs. */
export interface RelayDeps {
  logger: Logger;
  postgres: Postgres;
  cluster: ClusterView;
  gameSessionWriter: GameSessionWriter;
}

/** A launch normally creates its object itself; the relay creates one that is missing after so long. */
const graceSeconds = 3;
const sessionsPerPassMax = 50;

/**
 * Creates the objects of launches that died before creating them, one row at a time under its lock; rows that another relay has locked
 * are skipped. A launch whose deadline has passed fails instead, so that its player can launch again.
 */
export async function relayGameSessions(deps: RelayDeps): Promise<void> {
  for (let count = 0; count < sessionsPerPassMax; count++) {
    const expired = await deps.postgres.transaction(async (transaction) => {
      const session = await lockUncreatedGameSession(transaction, graceSeconds);
      if (session === undefined) return "none";
      if (deps.cluster.gameSession(session.id) !== undefined) {
        // Its launch created it, and an outage kept the recorder from noting that: the game may have been played since.
        await updateGameSessionCreated(transaction, session.id);
        return undefined;
      }
      if (isTooLate(session)) return session.id;
      await deps.gameSessionWriter.create(session.id, session.spec);
      await updateGameSessionCreated(transaction, session.id);
      deps.logger.info({ gameSession: session.id }, "The relay created a game session that its launch had not.");
      return undefined;
    });
    if (expired === "none") return;
    if (expired !== undefined) await recordLaunchFailure(deps, expired, "The cluster could not be reached in time.");
  }
}

function isTooLate({ ageSeconds, spec }: UncreatedGameSession): boolean {
  return ageSeconds > spec.startDeadlineSeconds;
}

import type { Logger } from "#runtime/logger.ts";
import type { GameSessionWriter } from "../../cluster/gameSessionWriter.ts";
import type { Postgres } from "../../stores/postgres.ts";
import { recordLaunchFailure } from "../recordLaunchFailure.ts";
import { claimUncreated, type UncreatedSession } from "../relayStore.ts";
import { markCreated } from "../gameSessionStore.ts";

/** What creating left-behind sessions needs. */
export interface RelayDeps {
  logger: Logger;
  postgres: Postgres;
  gameSessionWriter: GameSessionWriter;
}

/** A launch normally creates its object itself; only what it left behind for so long is the relay's. */
const graceSeconds = 3;
const mostPerPass = 50;

/**
 * Creates the objects that launches died before creating, one row at a time under its lock; rows that another relay holds
 * are skipped. A launch whose deadline has passed fails instead, so that its player is not locked out.
 */
export async function relayGameSessions(deps: RelayDeps): Promise<void> {
  for (let count = 0; count < mostPerPass; count++) {
    const expired = await deps.postgres.transaction(async (transaction) => {
      const session = await claimUncreated(transaction, graceSeconds);
      if (session === undefined) return "none";
      if (isTooLate(session)) return session.id;
      await deps.gameSessionWriter.create(session.id, session.spec);
      await markCreated(transaction, session.id);
      deps.logger.info({ gameSession: session.id }, "The relay has created a game session that its launch left behind.");
      return undefined;
    });
    if (expired === "none") return;
    if (expired !== undefined) await recordLaunchFailure(deps, expired, "The cluster could not be reached in time.");
  }
}

function isTooLate({ ageSeconds, spec }: UncreatedSession): boolean {
  return ageSeconds > spec.startDeadlineSeconds;
}

import { isDeepStrictEqual } from "node:util";
import { KubeError } from "#kube/api/errors.ts";
import { refuseInMaintenance } from "../../maintenance/maintenanceWatch.ts";
import { sessionActive, type Launch, noServers } from "./decideLaunch.ts";
import type { NewGameSession } from "./launchQueries.ts";
import type { LaunchToStore } from "./launchBatches.ts";
import { recordLaunchFailure } from "../recording/recordFailures.ts";
import type { Deps } from "../../deps.ts";

/** What launching a game needs. */
export type LaunchDeps = Pick<
  Deps,
  "config" | "logger" | "postgres" | "maintenance" | "gameSessionWriter" | "launchQueue" | "launchBatches"
>;

/** A session that was launched. */
export type LaunchedSession = Pick<NewGameSession, "id" | "isQueued">;

/** A launch whose session is stored. */
interface StoredLaunch extends LaunchedSession {
  launch: Launch;
  /** Resolves when the session's object exists in the cluster. */
  created: Promise<void>;
}

/**
 * Stores a new game session, creates its object in the cluster and returns it. If the process dies between
 * the two, the relay creates the object. A session that waits in the queue gets its object when its player
 * confirms the seat. `inTransaction` runs in the transaction that stores the session.
 *
 * @throws DomainError `maintenance`, `not_found`, `play_limit_reached`, `session_active`, `no_empty_slot`,
 *   `unreadable_save`, `newer_save`, `conflict` (including a game that needs internet access that the site
 *   does not allow) or `no_servers`, in this order of precedence, and `unavailable` when too many games are
 *   starting.
 */
export async function launchGame(
  deps: LaunchDeps,
  userId: string,
  launch: Launch,
  inTransaction?: LaunchToStore["inTransaction"],
): Promise<LaunchedSession> {
  refuseInMaintenance(deps.maintenance);
  const { id, isQueued, created } = await deps.launchQueue.runAfterEarlier<StoredLaunch>(
    userId,
    async (earlier) => {
      // Repeated clicks on one page cost the database a single launch.
      if (earlier !== undefined && isDeepStrictEqual(earlier.launch, launch)) throw sessionActive(earlier.id);
      const { playSeconds } = await deps.launchBatches.check({ userId, launch });
      return storeAndCreate(deps, { userId, launch, playSeconds, inTransaction });
    },
  );
  await created;
  return { id, isQueued };
}

/** Holds its launch slot until the object exists, even if the client has left. */
async function storeAndCreate(deps: LaunchDeps, launch: LaunchToStore): Promise<StoredLaunch> {
  const stored = Promise.withResolvers<NewGameSession>();
  const created = deps.launchQueue.runLimited(async () => {
    const session = await deps.launchBatches.store(launch);
    stored.resolve(session);
    if (!session.isQueued) await createInCluster(deps, session);
  });
  created.catch(stored.reject);
  const { id, isQueued } = await stored.promise;
  return { id, isQueued, launch: launch.launch, created };
}

/**
 * Creates the session's object. The recorder notes its creation when it sees the object.
 *
 * @throws DomainError `no_servers` when the cluster cannot be reached or rejects the object; the session has
 *   then failed.
 */
export async function createInCluster(
  deps: Pick<LaunchDeps, "logger" | "postgres" | "gameSessionWriter">,
  { id, spec }: Pick<NewGameSession, "id" | "spec">,
): Promise<void> {
  const { logger, gameSessionWriter } = deps;
  try {
    await gameSessionWriter.create(id, spec);
  } catch (error) {
    if (error instanceof KubeError && error.status === 422)
      logger.error(
        { err: error, gameSession: id },
        "The Kubernetes API rejected the spec of a game session.",
      );
    if (!(await recordLaunchFailure(deps, id, "The session could not be created in the cluster."))) return;
    throw noServers("The game servers cannot be reached right now. Try again in a moment.", { cause: error });
  }
}

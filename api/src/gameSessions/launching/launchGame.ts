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
  "logger" | "postgres" | "maintenance" | "gameSessionWriter" | "launchQueue" | "launchBatches"
>;

/** A launch whose session is stored. */
interface StoredLaunch {
  id: string;
  launch: Launch;
  /** Resolves when the session's object exists in the cluster. */
  created: Promise<void>;
}

/**
 * Stores a new game session, creates its object in the cluster and returns its id. If the process dies
 * between the two, the relay creates the object. `inTransaction` runs in the transaction that stores the
 * session.
 *
 * @throws DomainError `maintenance`, `not_found`, `session_active`, `no_empty_slot`, `unreadable_save`,
 *   `conflict` (including a game that needs internet access that the site does not allow) or `no_servers`, in
 *   this order of precedence, and `unavailable` when too many games are starting.
 */
export async function launchGame(
  deps: LaunchDeps,
  userId: string,
  launch: Launch,
  inTransaction?: LaunchToStore["inTransaction"],
): Promise<string> {
  refuseInMaintenance(deps.maintenance);
  const { id, created } = await deps.launchQueue.runAfterEarlier<StoredLaunch>(userId, async (earlier) => {
    // Repeated clicks on one page cost the database a single launch.
    if (earlier !== undefined && isDeepStrictEqual(earlier.launch, launch)) throw sessionActive(earlier.id);
    await deps.launchBatches.check({ userId, launch });
    return storeAndCreate(deps, { userId, launch, inTransaction });
  });
  await created;
  return id;
}

/** Holds its launch slot until the object exists, even if the client has left. */
async function storeAndCreate(deps: LaunchDeps, launch: LaunchToStore): Promise<StoredLaunch> {
  const stored = Promise.withResolvers<NewGameSession>();
  const created = deps.launchQueue.runLimited(async () => {
    const session = await deps.launchBatches.store(launch);
    stored.resolve(session);
    await createInCluster(deps, session);
  });
  created.catch(stored.reject);
  const { id } = await stored.promise;
  return { id, launch: launch.launch, created };
}

/** Creates the session's object. The recorder notes its creation when it sees the object. */
async function createInCluster(deps: LaunchDeps, { id, spec }: NewGameSession): Promise<void> {
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

import { isDeepStrictEqual } from "node:util";
import { KubeError } from "#kube/api/errors.ts";
import type { Logger } from "#runtime/logger.ts";
import type { GameSessionWriter } from "../../cluster/gameSessionWriter.ts";
import { refuseInMaintenance } from "../../maintenance/maintenanceWatch.ts";
import type { Postgres } from "../../stores/postgres.ts";
import { sessionActive, type Launch, noServers } from "./decideLaunch.ts";
import type { NewGameSession } from "./launchQueries.ts";
import type { LaunchStore, LaunchToStore } from "./launchBatches.ts";
import type { LaunchTurns } from "./launchQueue.ts";
import { recordLaunchFailure } from "../recording/recordFailures.ts";

/** What a launch needs. */
export interface LaunchDeps {
  logger: Logger;
  postgres: Postgres;
  maintenance: Parameters<typeof refuseInMaintenance>[0];
  gameSessionWriter: GameSessionWriter;
  launchTurns: LaunchTurns;
  launchStore: LaunchStore;
}

/** What a launch has stored. */
interface StoredLaunch {
  id: string;
  launch: Launch;
  /** Resolves when the cluster has the object. */
  created: Promise<void>;
}

/**
 * Stores a new game session, creates its object in the cluster and returns its id. Throws maintenance,
 * not_found, session_active, no_empty_slot, unreadable_save, conflict (also for a game that needs the
 * internet where the site does not allow it) and no_servers, in this order of precedence, and unavailable
 * when very many launch at once. A process that dies in between leaves a row that the relay goes on with.
 * `alsoWithin` runs in the transaction that stores the session.
 */
export async function launchGame(
  deps: LaunchDeps,
  userId: string,
  launch: Launch,
  alsoWithin?: LaunchToStore["alsoWithin"],
): Promise<string> {
  refuseInMaintenance(deps.maintenance);
  const { id, created } = await deps.launchTurns.ofPlayer<StoredLaunch>(userId, async (before) => {
    // Many of the same at once, as from a page that is clicked again and again, cost the database one.
    if (before !== undefined && isDeepStrictEqual(before.launch, launch)) throw sessionActive(before.id);
    await deps.launchStore.check({ userId, launch });
    return storeAndCreate(deps, { userId, launch, alsoWithin });
  });
  await created;
  return id;
}

/** The launch keeps its place until its object is there, also when the request behind it no longer waits. */
async function storeAndCreate(deps: LaunchDeps, asked: LaunchToStore): Promise<StoredLaunch> {
  const stored = Promise.withResolvers<NewGameSession>();
  const created = deps.launchTurns.inPlace(async () => {
    const session = await deps.launchStore.store(asked);
    stored.resolve(session);
    await createInCluster(deps, session);
  });
  created.catch(stored.reject);
  const { id } = await stored.promise;
  return { id, launch: asked.launch, created };
}

/** Creates the object; the recorder notes that when it sees the object. */
async function createInCluster(deps: LaunchDeps, { id, spec }: NewGameSession): Promise<void> {
  const { logger, gameSessionWriter } = deps;
  try {
    await gameSessionWriter.create(id, spec);
  } catch (error) {
    if (error instanceof KubeError && error.status === 422)
      logger.error({ err: error, gameSession: id }, "The Kubernetes API refused the spec of a game session.");
    if (!(await recordLaunchFailure(deps, id, "The cluster rejected the session."))) return;
    throw noServers("The game servers cannot be reached right now. Try again in a moment.", { cause: error });
  }
}

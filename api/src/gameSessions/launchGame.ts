import { isDeepStrictEqual } from "node:util";
import { KubeError } from "#kube/errors.ts";
import type { Logger } from "#runtime/logger.ts";
import type { GameSessionWriter } from "../cluster/gameSessionWriter.ts";
import { refuseInMaintenance } from "../maintenance/refuseInMaintenance.ts";
import type { Postgres } from "../stores/postgres.ts";
import { sessionActive, type Launch } from "./decideLaunch.ts";
import type { NewGameSession } from "./launchQueries.ts";
import type { LaunchStore, LaunchToStore } from "./launchStore.ts";
import type { LaunchTurns } from "./launchTurns.ts";
import { recordLaunchFailure } from "./recordLaunchFailure.ts";
import { noServers } from "./specWithRoom.ts";

/** What a launch needs. */
export interface LaunchDeps {
  logger: Logger;
  postgres: Postgres;
  maintenance: Parameters<typeof refuseInMaintenance>[0];
  gameSessionWriter: GameSessionWriter;
  launchTurns: LaunchTurns;
  launchStore: LaunchStore;
}

/** What a launch led to. */
interface Launched {
  id: string;
  launch: Launch;
}

/**
 * Stores a new game session, creates its object in the cluster and returns its id. Throws maintenance, not_found, session_active, no_empty_slot,
 * unreadable_save, conflict (also for a game that needs the internet where the site does not allow it) and no_servers, in this order of precedence, and
 * unavailable when very many launch at once. A process that dies in between leaves a row that the relay goes on with. `alsoWithin` runs in the transaction that stores the session.
 */
export async function launchGame(deps: LaunchDeps, userId: string, launch: Launch, alsoWithin?: LaunchToStore["alsoWithin"]): Promise<string> {
  const { launchTurns, launchStore } = deps;
  refuseInMaintenance(deps.maintenance);
  const { id } = await launchTurns.ofPlayer<Launched>(userId, async (before) => {
    // Many of the same at once, as from a page that is clicked again and again, cost the database one.
    if (before !== undefined && isDeepStrictEqual(before.launch, launch)) throw sessionActive(before.id);
    await launchStore.check({ userId, launch });
    return launchTurns.inPlace(async () => {
      const session = await launchStore.store({ userId, launch, alsoWithin });
      await createInCluster(deps, session);
      return { id: session.id, launch };
    });
  });
  return id;
}

/** Creates the object; the recorder notes that when it sees the object. */
async function createInCluster(deps: LaunchDeps, { id, spec }: NewGameSession): Promise<void> {
  const { logger, gameSessionWriter } = deps;
  try {
    await gameSessionWriter.create(id, spec);
  } catch (error) {
    if (error instanceof KubeError && error.status === 422) logger.error({ err: error, gameSession: id }, "The Kubernetes API refused the spec of a game session.");
    await recordLaunchFailure(deps, id, "The cluster could not take the session.");
    throw noServers("No game server can be reached just now: try again in a moment.", { cause: error });
  }
}

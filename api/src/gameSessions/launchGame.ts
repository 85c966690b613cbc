import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { KubeError } from "#kube/errors.ts";
import type { Logger } from "#runtime/logger.ts";
import type { StreamTickets } from "../auth/streamTickets.ts";
import type { ClusterView } from "../cluster/clusterView.ts";
import type { GameSessionWriter } from "../cluster/gameSessionWriter.ts";
import { DomainError, notFound } from "../errors.ts";
import { refuseInMaintenance } from "../maintenance/refuseInMaintenance.ts";
import { buildGameSessionSpec, type GameSessionSettings } from "./buildGameSessionSpec.ts";
import { noServers, specWithRoom } from "./specWithRoom.ts";
import { newGameSessionId } from "./id.ts";
import { chooseSlot, type Slot, type SlotChoice, type SlotWish } from "./slotChoice.ts";
import { findLaunchContext, hasActiveGameSession, insertGameSession, type LaunchContext, type NewGameSession } from "./launchQueries.ts";
import type { LaunchTurns } from "./launchTurns.ts";
import type { SiteResources } from "../games/siteResources.ts";
import { launchedQuality } from "../accounts/keptQualityQueries.ts";
import { lockLaunches } from "../saves/launchLockQueries.ts";
import { unreadableSave } from "../saves/saveVersion.ts";
import { listSaveVersions } from "../saves/saveVersionQueries.ts";
import type { Postgres } from "../stores/postgres.ts";
import type { Queryable } from "../stores/queryable.ts";
import { recordLaunchFailure } from "./recordLaunchFailure.ts";
import type { LaunchedQuality } from "./streamSpec.ts";

/** What a launch needs. */
export interface LaunchDeps {
  config: { isInternetAllowed: boolean; gameSession: GameSessionSettings; siteResources: SiteResources };
  logger: Logger;
  postgres: Postgres;
  cluster: ClusterView;
  maintenance: Parameters<typeof refuseInMaintenance>[0];
  gameSessionWriter: GameSessionWriter;
  launchTurns: LaunchTurns;
  streamTickets: Pick<StreamTickets, "publicKey">;
}

/** What a player wants to play. */
export interface Launch extends SlotWish {
  gameSlug: string;
  /** Absent: what the player's account keeps. */
  quality?: LaunchedQuality | undefined;
}

/** What a launch has stored. */
interface StoredLaunch {
  session: NewGameSession;
  launch: Launch;
}

/**
 * Stores a new game session, creates its object in the cluster and returns its id. Throws maintenance, not_found, session_active, no_empty_slot,
 * unreadable_save, conflict (also for a game that needs the internet where the site does not allow it) and no_servers, in this order of precedence, and
 * unavailable when very many launch at once. A process that dies in between leaves a row that the relay goes on with. `alsoWithin` runs in the transaction that stores the session.
 */
export async function launchGame(
  deps: LaunchDeps, userId: string, launch: Launch, alsoWithin?: (id: string, transaction: Queryable) => Promise<void> | undefined,
): Promise<string> {
  const { postgres, launchTurns } = deps;
  refuseInMaintenance(deps.maintenance);
  const { session } = await launchTurns.ofPlayer<StoredLaunch>(userId, async (before) => {
    // Many of the same at once, as from a page that is clicked again and again, cost the database one.
    if (before !== undefined && isDeepStrictEqual(before.launch, launch)) throw sessionActive(before.session.id);
    // Most launches that are refused are found out here: the lock, of which all processes have one, is for those that are stored.
    await decideLaunch(deps, userId, launch, postgres.pool, await findLaunchContext(postgres.pool, launch.gameSlug, userId));
    const newSession = await launchTurns.toStore(() => postgres.transaction(async (transaction) => {
      const context = await findLaunchContext(transaction, launch.gameSlug, userId, { holdGame: true });
      const stored = await decideLaunch(deps, userId, launch, transaction, context);
      if (!await insertGameSession(transaction, stored)) throw await launchErrorOf(transaction, userId);
      await alsoWithin?.(stored.id, transaction);
      return stored;
    }, lockLaunches));
    return { session: newSession, launch };
  });
  await createInCluster(deps, session);
  return session.id;
}

/** Returns the session that the launch leads to, by what the database said. Throws why there is none. */
async function decideLaunch(
  deps: LaunchDeps, userId: string, launch: Launch, db: Queryable, context: LaunchContext | undefined,
): Promise<NewGameSession> {
  if (context === undefined) throw notFound("There is no such game.");
  const choice = chooseSlot(context.slots, launch);
  if (choice.kind === "unknown") throw notFound("There is no such save slot.");
  if (context.activeSessionId !== null) throw sessionActive(context.activeSessionId);
  const slot = slotOf(choice);
  if (choice.kind === "continue" && choice.slot.isUnreadable) throw await unreadable(db, choice.slot);
  if (context.network === "internet" && !deps.config.isInternetAllowed) throw new DomainError("conflict", { message: noInternetMessage });
  const source = {
    userId, slug: launch.gameSlug, context, slot, settings: deps.config.gameSession, siteResources: deps.config.siteResources,
    quality: launchedQuality(launch.quality, context.keptQuality), ticketPublicKey: deps.streamTickets.publicKey,
  };
  const unadvised = { ...context, profile: { ...context.profile, cpuMillicores: null, peakMemoryMb: null } };
  const spec = specWithRoom(deps.cluster, context, buildGameSessionSpec(source), () => buildGameSessionSpec({ ...source, context: unadvised }));
  const { gameId, versionId } = context;
  const newSlotNumber = slot.isNew ? slot.number : undefined;
  return { id: newGameSessionId(), userId, gameId, versionId, slotId: slot.id, newSlotNumber, spec };
}

const sessionActiveMessage = "You are already playing: stop that session first.";

const noInternetMessage = "This game needs the internet, which this site does not let games use: an admin has to allow it by the chart value games.network.";

function sessionActive(sessionId: string): DomainError {
  return new DomainError("session_active", { message: sessionActiveMessage, extra: { sessionId } });
}

/** Why the session could not be stored, although nothing spoke against it a moment before. */
async function launchErrorOf(transaction: Queryable, userId: string): Promise<DomainError> {
  const isActive = await hasActiveGameSession(transaction, userId);
  return isActive ? new DomainError("session_active", { message: sessionActiveMessage }) : slotInUse();
}

/** Another launch would fail like the one that found it: the player has to restore a version before. */
async function unreadable(transaction: Queryable, { id, objectKey }: Slot): Promise<DomainError> {
  const versions = await listSaveVersions(transaction, [id]);
  return unreadableSave({ versions }, versions.find((version) => version.objectKey === objectKey));
}

function slotInUse(): DomainError {
  return new DomainError("conflict", {
    message: "The last save of this slot is still being stored: try again in a moment, or play another slot.", retryAfterSeconds: 10,
  });
}

interface ChosenSlot extends Omit<Slot, "isPending" | "isUnreadable"> {
  isNew: boolean;
}

function slotOf(choice: Exclude<SlotChoice, { kind: "unknown" }>): ChosenSlot {
  if (choice.kind === "full") {
    throw new DomainError("no_empty_slot", { message: "All save slots of this game are in use: continue one of them." });
  }
  if (choice.kind === "fresh") {
    return { id: randomUUID(), number: choice.number, objectKey: null, sha256: null, bytes: null, unpackedBytes: null, generation: 0, isNew: true };
  }
  if (choice.slot.isPending) throw slotInUse();
  return { ...choice.slot, isNew: false };
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

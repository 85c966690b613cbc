import { randomUUID } from "node:crypto";
import { limits } from "#contracts/limits.ts";
import { KubeError } from "#kube/errors.ts";
import type { Clock } from "#runtime/clock.ts";
import type { Logger } from "#runtime/logger.ts";
import type { StreamTickets } from "../auth/streamTickets.ts";
import type { ClusterView } from "../cluster/clusterView.ts";
import type { GameSessionWriter } from "../cluster/gameSessionWriter.ts";
import { DomainError, notFound } from "../errors.ts";
import { buildGameSessionSpec, type GameSessionSettings } from "./buildGameSessionSpec.ts";
import { newGameSessionId } from "./id.ts";
import { chooseSlot, type Slot, type SlotChoice, type SlotWish } from "./slotChoice.ts";
import { offeredSlots } from "../cluster/capacity.ts";
import { findLaunchContext, hasActiveGameSession, insertGameSession, type NewGameSession } from "./launchQueries.ts";
import { readKeptQuality } from "../accounts/keptQuality.ts";
import { lockLaunches } from "../saves/launchLockQueries.ts";
import { unreadableSave } from "../saves/saveVersion.ts";
import { listSaveVersions } from "../saves/saveVersionQueries.ts";
import type { Postgres } from "../stores/postgres.ts";
import type { Queryable } from "../stores/queryable.ts";
import { recordLaunchFailure } from "./recordLaunchFailure.ts";
import type { LaunchedQuality } from "./streamSpec.ts";

/** What a launch needs. */
export interface LaunchDeps {
  config: { isInternetAllowed: boolean; gameSession: GameSessionSettings };
  logger: Logger;
  clock: Clock;
  postgres: Postgres;
  cluster: ClusterView;
  gameSessionWriter: GameSessionWriter;
  streamTickets: Pick<StreamTickets, "publicKey">;
}

/** What a player wants to play. */
export interface Launch extends SlotWish {
  gameSlug: string;
  /** Absent: what the player's account keeps. */
  quality?: LaunchedQuality | undefined;
}

/**
 * Stores a new game session, creates its object in the cluster and returns its id. Throws not_found, session_active, no_empty_slot,
 * unreadable_save, conflict (also for a game that needs the internet where the site does not allow it) and no_servers, in this order of precedence. A
 * process that dies in between leaves a row that the relay goes on with. `alsoWithin` runs in the transaction that stores the session.
 */
export async function launchGame(
  deps: LaunchDeps, userId: string, launch: Launch, alsoWithin?: (id: string, transaction: Queryable) => Promise<void> | undefined,
): Promise<string> {
  const session = await deps.postgres.transaction(async (transaction) => {
    await lockLaunches(transaction);
    const context = await findLaunchContext(transaction, launch.gameSlug, userId);
    if (context === undefined) throw notFound("There is no such game.");
    const choice = chooseSlot(context.slots, launch);
    if (choice.kind === "unknown") throw notFound("There is no such save slot.");
    if (context.activeSessionId !== null) throw sessionActive(context.activeSessionId);
    const slot = slotOf(choice);
    if (choice.kind === "continue" && choice.slot.isUnreadable) throw await unreadable(transaction, choice.slot);
    if (context.network === "internet" && !deps.config.isInternetAllowed) throw new DomainError("conflict", { message: noInternetMessage });
    if (context.activeSessions >= slotsOfCluster(deps)) throw noServers("All game servers are taken: try again in a moment.");
    const source = {
      userId, slug: launch.gameSlug, context, slot, settings: deps.config.gameSession,
      quality: launch.quality ?? readKeptQuality(context.keptQuality), ticketPublicKey: deps.streamTickets.publicKey, now: deps.clock.now(),
    };
    const { gameId, versionId } = context;
    const newSlotNumber = slot.isNew ? slot.number : undefined;
    const stored = {
      id: newGameSessionId(), userId, gameId, versionId, slotId: slot.id, newSlotNumber, spec: buildGameSessionSpec(source),
    };
    if (!await insertGameSession(transaction, stored)) throw await launchErrorOf(transaction, userId);
    await alsoWithin?.(stored.id, transaction);
    return stored;
  });
  await createInCluster(deps, session);
  return session.id;
}

const sessionActiveMessage = "You are already playing: stop that session first.";

const noInternetMessage = "This game needs the internet, which this site does not let games use: an admin has to allow it by the chart value games.network.";

function sessionActive(sessionId: string): DomainError {
  return new DomainError("session_active", { message: sessionActiveMessage, extra: { sessionId } });
}

function noServers(message: string, cause?: unknown): DomainError {
  return new DomainError("no_servers", { message, retryAfterSeconds: limits.gameSession.noServersRetryAfterSeconds, cause });
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

function slotsOfCluster({ cluster }: LaunchDeps): number {
  return offeredSlots(cluster.gameNodes.cache.list(), cluster.gameSessions.cache.list());
}

/** Creates the object; the recorder notes that when it sees the object. */
async function createInCluster(deps: LaunchDeps, { id, spec }: NewGameSession): Promise<void> {
  const { logger, gameSessionWriter } = deps;
  try {
    await gameSessionWriter.create(id, spec);
  } catch (error) {
    if (error instanceof KubeError && error.status === 422) logger.error({ err: error, gameSession: id }, "The Kubernetes API refused the spec of a game session.");
    await recordLaunchFailure(deps, id, "The cluster could not take the session.");
    throw noServers("No game server can be reached just now: try again in a moment.", error);
  }
}

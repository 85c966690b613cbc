import { randomUUID } from "node:crypto";
import type { LaunchQuality } from "#contracts/streamQuality.ts";
import {
  sessionShare,
  type NodeShare,
  type Shortage,
  shortageOf,
  noOverhead,
} from "#contracts/crd/capacity.ts";
import type { ServerLack } from "#contracts/http/errors.ts";
import { limits } from "#contracts/limits.ts";
import { randomBase32 } from "#runtime/base32.ts";
import type { GameSessionSpec } from "#contracts/crd/gameSessionSpec.ts";
import type { StreamTickets } from "../../auth/streamTickets.ts";
import type { ClusterView } from "../../cluster/clusterView.ts";
import { DomainError, notFound } from "../../errors.ts";
import type { SiteResources } from "../../games/siteResources.ts";
import { listSaveVersions } from "../../saves/saveVersionQueries.ts";
import type { Queryable } from "../../stores/queryable.ts";
import { buildGameSessionSpec, type GameSessionSettings, launchedQuality } from "./buildGameSessionSpec.ts";
import type { LaunchContext, NewGameSession, UnseenSession, Slot } from "./launchQueries.ts";
import { readKeptQuality } from "../../accounts/accountQueries.ts";
import { unreadableSave, lowestEmptyNumber } from "../../saves/slotHistory.ts";

/** Sessions that the cluster has, or is about to have. */
type KnownSessions = Pick<LaunchContext, "activeSessions" | "unseenSessions">;

const allTaken = "All game servers are in use. Try again in a moment.";

/** The slot that the player asked for; neither field means the most recently played one. */
interface SlotWish {
  saveSlotId?: string | undefined;
  fresh?: boolean | undefined;
}

/**
 * What was chosen: a slot to continue, a number for a new one, or nothing because the slot is unknown or all
 * are in use.
 */
type SlotChoice =
  | { kind: "continue"; slot: Slot }
  | { kind: "fresh"; number: number }
  | { kind: "unknown" }
  | { kind: "full" };

/** What a decision needs beside the database. */
export interface DecideLaunchDeps {
  config: { isInternetAllowed: boolean; gameSession: GameSessionSettings; siteResources: SiteResources };
  cluster: ClusterView;
  streamTickets: Pick<StreamTickets, "publicKey">;
}

/** What a player wants to play. */
export interface Launch extends SlotWish {
  gameSlug: string;
  /** Absent: what the player's account keeps. */
  quality?: LaunchQuality | undefined;
}

/** A player's launch. */
export interface AskedLaunch {
  userId: string;
  launch: Launch;
}

/** Returns the session that the launch leads to, by what the database said. Throws why there is none. */
export async function decideLaunch(
  deps: DecideLaunchDeps,
  { userId, launch }: AskedLaunch,
  context: LaunchContext | undefined,
  db: Queryable,
): Promise<NewGameSession> {
  if (context === undefined) throw notFound("This game does not exist.");
  const choice = chooseSlot(context.slots, launch);
  if (choice.kind === "unknown") throw notFound("This save slot does not exist.");
  if (context.activeSessionId !== null) throw sessionActive(context.activeSessionId);
  const slot = slotOf(choice);
  if (choice.kind === "continue" && choice.slot.isUnreadable) throw await unreadable(db, choice.slot);
  if (context.network === "internet" && !deps.config.isInternetAllowed)
    throw new DomainError("conflict", { message: noInternetMessage });
  const source = {
    userId,
    slug: launch.gameSlug,
    context,
    slot,
    settings: deps.config.gameSession,
    siteResources: deps.config.siteResources,
    quality: launchedQuality(launch.quality, readKeptQuality(context.keptQuality)),
    ticketPublicKey: deps.streamTickets.publicKey,
  };
  const unadvised = { ...context, profile: { ...context.profile, cpuMillicores: null, peakMemoryMb: null } };
  const spec = specWithRoom(deps.cluster, context, buildGameSessionSpec(source), () =>
    buildGameSessionSpec({ ...source, context: unadvised }),
  );
  const { gameId, versionId } = context;
  const newSlotNumber = slot.isNew ? slot.number : undefined;
  return {
    id: newGameSessionId(context.network),
    userId,
    gameId,
    versionId,
    slotId: slot.id,
    newSlotNumber,
    spec,
  };
}

/** The player has a session, whose id is told where it is known. */
export function sessionActive(sessionId?: string): DomainError {
  return new DomainError("session_active", {
    message: "You are already playing a game. Stop that session first.",
    ...(sessionId === undefined ? {} : { extra: { sessionId } }),
  });
}

/** A session still owns the slot. */
export function slotInUse(): DomainError {
  return new DomainError("conflict", {
    message: "The last save of this slot is still being stored. Try again in a moment, or play another slot.",
    retryAfterSeconds: 10,
  });
}

const noInternetMessage =
  "This game needs internet access, which this site does not allow. An admin can allow it with the chart value games.network.";

/** Another launch would fail like the one that found it: the player has to restore a version before. */
async function unreadable(db: Queryable, { id, objectKey }: Slot): Promise<DomainError> {
  const versions = await listSaveVersions(db, [id]);
  return unreadableSave(
    { versions },
    versions.find((version) => version.objectKey === objectKey),
  );
}

interface ChosenSlot extends Omit<Slot, "isPending" | "isUnreadable"> {
  isNew: boolean;
}

function slotOf(choice: Exclude<SlotChoice, { kind: "unknown" }>): ChosenSlot {
  if (choice.kind === "full") {
    throw new DomainError("no_empty_slot", {
      message: "All save slots of this game are in use. Continue one of them.",
    });
  }
  if (choice.kind === "fresh") {
    return {
      id: randomUUID(),
      number: choice.number,
      objectKey: null,
      sha256: null,
      bytes: null,
      unpackedBytes: null,
      generation: 0,
      isNew: true,
    };
  }
  if (choice.slot.isPending) throw slotInUse();
  return { ...choice.slot, isNew: false };
}

/** Chooses a slot; `slots` are the player's for this game, the most recently played first. */
export function chooseSlot(slots: readonly Slot[], { saveSlotId, fresh }: SlotWish): SlotChoice {
  if (saveSlotId !== undefined) {
    const slot = slots.find(({ id }) => id === saveSlotId);
    return slot === undefined ? { kind: "unknown" } : { kind: "continue", slot };
  }
  const [latest] = slots;
  if (fresh !== true && latest !== undefined) return { kind: "continue", slot: latest };
  const number = lowestEmptyNumber(slots);
  return number === undefined ? { kind: "full" } : { kind: "fresh", number };
}

/**
 * Returns the spec for which the cluster has room. That is `advised`, which follows from what the game used
 * before; where no node is large enough for it, it is `unadvised`, which requests as much as a game that
 * nobody has played. Throws no_servers when all slots are taken, or no node has the memory or processors.
 */
function specWithRoom(
  cluster: ClusterView,
  sessions: KnownSessions,
  advised: GameSessionSpec,
  unadvised: () => GameSessionSpec,
): GameSessionSpec {
  if (sessions.activeSessions >= cluster.sessionLoads.offeredSlots(cluster.gameNodes.cache.list()))
    throw noServers(allTaken);
  const shortage = shortageFor(cluster, sessions, advised);
  if (shortage === undefined) return advised;
  if (!shortage.isTooLarge) throw shortageError(shortage);
  const spec = unadvised();
  const remaining = shortageFor(cluster, sessions, spec);
  if (remaining !== undefined) throw shortageError(remaining);
  return spec;
}

function shortageFor(
  { gameNodes, sessionLoads }: ClusterView,
  { unseenSessions }: KnownSessions,
  spec: GameSessionSpec,
): Shortage | undefined {
  const unseen = unseenSessions.filter(({ id }) => !sessionLoads.has(id)).map(shareOfUnseen);
  const waiting = [...unseen, ...sessionLoads.unplaced()];
  return shortageOf(sessionShare(spec, noOverhead), {
    gameNodes: gameNodes.cache.list(),
    loads: sessionLoads.placed,
    waiting,
  });
}

function shareOfUnseen({ resources, saveVolumeBytes }: UnseenSession): NodeShare {
  return sessionShare({ resources, saveVolumeBytes }, noOverhead);
}

/**
 * Returns a 503 that may be tried again soon; `lack` says what is missing where not all servers are simply
 * taken.
 */
export function noServers(
  message: string,
  { cause, lack }: { cause?: unknown; lack?: ServerLack } = {},
): DomainError {
  return new DomainError("no_servers", {
    message,
    retryAfterSeconds: limits.gameSession.noServersRetryAfterSeconds,
    cause,
    ...(lack === undefined ? {} : { extra: { lack } }),
  });
}

function shortageError({ lacks, isTooLarge, needed }: Shortage): DomainError {
  if (lacks.includes("slots") && needed.slots === 1) return noServers(allTaken);
  const amounts = {
    slots: `${needed.slots} shares of a GPU`,
    memory: `${Math.ceil(needed.memoryBytes / 2 ** 20)} MiB of memory`,
    processors: `${needed.cpuMillicores / 1000} processors`,
  };
  const amount = lacks.map((lack) => amounts[lack]).join(" and ");
  const message = isTooLarge
    ? `This game needs ${amount}. No server here is large enough.`
    : `This game needs ${amount}. No server has that much left right now. Try again in a moment.`;
  const [lack = "slots"] = lacks;
  return noServers(message, { lack: lack === "slots" ? "gpu" : lack });
}

/**
 * A new game session's id: the name of its row, its GameSession and its pod. The network plugin of EKS has
 * one set of rules for all pods of a namespace on a node whose names differ in their last part alone:
 * sessions with internet differ before it, or others would get their way out.
 */
export function newGameSessionId(network: LaunchContext["network"]): string {
  return `${network === "internet" ? "gs-net" : "gs"}-${randomBase32(20)}`;
}

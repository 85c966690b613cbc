import { randomUUID } from "node:crypto";
import type { LaunchQuality } from "#contracts/streamQuality.ts";
import type { Shortage } from "#contracts/crd/capacity.ts";
import type { ServerLack } from "#contracts/http/errors.ts";
import { limits } from "#contracts/limits.ts";
import { randomBase32 } from "#runtime/base32.ts";
import type { GameSessionSpec } from "#contracts/crd/gameSessionSpec.ts";
import { DomainError, notFound } from "../../errors.ts";
import { listSaveVersions } from "../../saves/saveVersionQueries.ts";
import type { Queryable } from "../../stores/queryable.ts";
import { buildGameSessionSpec, launchedQuality } from "./buildGameSessionSpec.ts";
import type { LaunchContext, NewGameSession, QueuedLaunch, Slot } from "./launchQueries.ts";
import { planSeats, SeatRoom } from "./planSeats.ts";
import { readKeptQuality } from "../../accounts/accountQueries.ts";
import { unreadableSave, lowestEmptyNumber } from "../../saves/slotHistory.ts";
import type { Deps } from "../../deps.ts";

/** Sessions that the cluster has or is about to have. */
type KnownSessions = Pick<LaunchContext, "activeSessions" | "unseenSessions" | "queue">;

const allInUse = "All game servers are in use. Try again in a moment.";
const queueIsFull = "All game servers are in use, and the queue is full. Try again in a few minutes.";

/** The requested save slot. Without either field it is the most recently played one. */
interface SlotWish {
  saveSlotId?: string | undefined;
  fresh?: boolean | undefined;
}

/**
 * The chosen slot: an existing one, the number of a new one, or none because it is unknown or all are in use.
 */
type SlotChoice =
  | { kind: "continue"; slot: Slot }
  | { kind: "fresh"; number: number }
  | { kind: "unknown" }
  | { kind: "full" };

/** What deciding a launch needs apart from the database. */
export type DecideLaunchDeps = Pick<Deps, "config" | "cluster" | "streamTickets">;

/** A player's request to launch a game. */
export interface Launch extends SlotWish {
  gameSlug: string;
  /** Defaults to `default`, or to another channel of a game whose default is not open to the player. */
  channel?: string | undefined;
  /** Whether the player agrees to continue a save of a newer version. */
  acceptsOlderVersion?: boolean | undefined;
  /** Defaults to the quality kept with the player's account. */
  quality?: LaunchQuality | undefined;
  /** Whether to wait in the queue if no seat is free. */
  wait?: boolean | undefined;
}

/** A launch and its player. */
export interface AskedLaunch {
  userId: string;
  launch: Launch;
  /** Seconds for which the player may play; undefined for any time. */
  playSeconds?: number | undefined;
}

/**
 * Decides from `context` and returns the session to store.
 *
 * @throws DomainError when the launch is refused.
 */
export async function decideLaunch(
  deps: DecideLaunchDeps,
  { userId, launch, playSeconds = Infinity }: AskedLaunch,
  context: LaunchContext | undefined,
  db: Queryable,
): Promise<NewGameSession> {
  if (context === undefined) throw notFound("This game does not exist.");
  const choice = chooseSlot(context.slots, launch);
  if (choice.kind === "unknown") throw notFound("This save slot does not exist.");
  if (context.activeSessionId !== null) throw sessionActive(context.activeSessionId);
  const slot = slotOf(choice);
  if (choice.kind === "continue" && choice.slot.isUnreadable) throw await unreadable(db, choice.slot);
  if (choice.kind === "continue" && choice.slot.isNewer && launch.acceptsOlderVersion !== true)
    throw newerSave();
  if (context.network === "internet" && !deps.config.isInternetAllowed)
    throw new DomainError("conflict", { message: noInternetMessage });
  const source = {
    userId,
    slug: launch.gameSlug,
    context,
    slot,
    settings: {
      ...deps.config.gameSession,
      maxDurationSeconds: Math.min(playSeconds, deps.config.gameSession.maxDurationSeconds),
    },
    siteResources: deps.config.siteResources,
    quality: launchedQuality(launch.quality, readKeptQuality(context.keptQuality)),
    ticketPublicKey: deps.streamTickets.publicKey,
  };
  const withoutProfile = {
    ...context,
    profile: { ...context.profile, cpuMillicores: null, peakMemoryMb: null },
  };
  const placed = placeLaunch(deps, context, launch.wait === true, buildGameSessionSpec(source), () =>
    buildGameSessionSpec({ ...source, context: withoutProfile }),
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
    isPlayLimited: playSeconds < deps.config.gameSession.maxDurationSeconds,
    ...placed,
  };
}

/** Returns the error for a player who already has a session; `sessionId` is its id if known. */
export function sessionActive(sessionId?: string): DomainError {
  return new DomainError("session_active", {
    message: "You are already playing a game. Stop that session first.",
    ...(sessionId === undefined ? {} : { extra: { sessionId } }),
  });
}

/** Returns the error for a slot that a session still owns. */
export function slotInUse(): DomainError {
  return new DomainError("conflict", {
    message: "The last save of this slot is still being stored. Try again in a moment, or play another slot.",
    retryAfterSeconds: 10,
  });
}

/** Returns the error for a save that an older version of the game may not be able to read. */
function newerSave(): DomainError {
  return new DomainError("newer_save", {
    message:
      "A newer version of the game wrote this save. The version that you are about to play is older and may not read it.",
  });
}

const noInternetMessage =
  "This game needs internet access, which this site does not allow. An admin can allow it with the chart value games.network.";

/** Returns the error for a slot whose save cannot be read: the player has to restore an earlier version. */
async function unreadable(db: Queryable, { id, objectKey }: Slot): Promise<DomainError> {
  const versions = await listSaveVersions(db, [id]);
  return unreadableSave(
    { versions },
    versions.find((version) => version.objectKey === objectKey),
  );
}

interface ChosenSlot extends Omit<Slot, "isPending" | "isUnreadable" | "isNewer"> {
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

/** Chooses a slot from the player's slots for this game, which are sorted by last play, newest first. */
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
 * Decides whether the launch gets a seat now or waits in the queue. Returns the spec with that: `profiled`,
 * which follows the game's past usage, or, if no node is large enough for that, `withoutProfile`, which
 * requests as much as a game without usage data.
 *
 * @throws DomainError `no_servers` when there is no seat and the launch does not wait, the queue is full, or
 *   no node is large enough.
 */
function placeLaunch(
  { cluster, config }: Pick<DecideLaunchDeps, "cluster" | "config">,
  sessions: KnownSessions,
  isWaiting: boolean,
  profiled: GameSessionSpec,
  withoutProfile: () => GameSessionSpec,
): Pick<NewGameSession, "spec" | "isQueued" | "passed"> {
  const room = new SeatRoom(cluster, sessions);
  const hasFreeSlot = room.freeSlots > 0;
  let spec = profiled;
  let shortage = hasFreeSlot || isWaiting ? room.shortageFor(spec) : undefined;
  if (shortage?.isTooLarge === true) {
    spec = withoutProfile();
    shortage = room.shortageFor(spec);
  }
  const seat = { spec, isQueued: false, passed: [] };
  if (hasFreeSlot && shortage === undefined && sessions.queue.length === 0) return seat;
  if (hasFreeSlot && shortage === undefined) {
    const { seated, passed } = planSeats([...sessions.queue, { ...launchOf(spec), id: newLaunch }], room);
    if (seated.includes(newLaunch)) return { ...seat, passed };
  }
  const isHopeless = shortage?.isTooLarge === true;
  if (isWaiting && !isHopeless && config.queueLength > sessions.queue.length)
    return { ...seat, isQueued: true };
  if (isWaiting && !isHopeless && config.queueLength > 0) throw noServers(queueIsFull);
  throw hasFreeSlot && shortage !== undefined ? shortageError(shortage) : noServers(allInUse);
}

/** The launch that is being decided, among queued ones. */
const newLaunch = "";

function launchOf({ resources, saveVolumeBytes }: GameSessionSpec): Omit<QueuedLaunch, "id"> {
  return { resources, saveVolumeBytes, hasSeat: false, passedSeconds: null };
}

/** Returns a 503 error that may be retried soon; `lack` is what is missing, unless all slots are in use. */
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
  if (lacks.includes("slots") && needed.slots === 1) return noServers(allInUse);
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
 * Returns a new session id, which names its row, its GameSession and its pod. The network plugin of EKS
 * applies one set of rules to all pods of a namespace on a node whose names differ only in their last part.
 * Sessions with internet access therefore have another prefix; otherwise they would open the network for the
 * rest.
 */
export function newGameSessionId(network: LaunchContext["network"]): string {
  return `${network === "internet" ? "gs-net" : "gs"}-${randomBase32(20)}`;
}

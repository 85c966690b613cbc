import { randomUUID } from "node:crypto";
import type { LaunchQuality } from "#contracts/http/streamQuality.ts";
import type { StreamTickets } from "../auth/streamTickets.ts";
import type { ClusterView } from "../cluster/clusterView.ts";
import { DomainError, notFound } from "../errors.ts";
import { readKeptQuality } from "../accounts/accountQueries.ts";
import type { SiteResources } from "../games/siteResources.ts";
import { unreadableSave } from "../saves/slotHistory.ts";
import { listSaveVersions } from "../saves/saveVersionQueries.ts";
import type { Queryable } from "../stores/queryable.ts";
import { buildGameSessionSpec, type GameSessionSettings } from "./buildGameSessionSpec.ts";
import { newGameSessionId } from "./id.ts";
import type { LaunchContext, NewGameSession } from "./launchQueries.ts";
import { chooseSlot, type Slot, type SlotChoice, type SlotWish } from "./slotChoice.ts";
import { specWithRoom } from "./specWithRoom.ts";
import { launchedQuality } from "./streamSpec.ts";

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
  if (context === undefined) throw notFound("There is no such game.");
  const choice = chooseSlot(context.slots, launch);
  if (choice.kind === "unknown") throw notFound("There is no such save slot.");
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
    message: "You are already playing: stop that session first.",
    ...(sessionId === undefined ? {} : { extra: { sessionId } }),
  });
}

/** A session still owns the slot. */
export function slotInUse(): DomainError {
  return new DomainError("conflict", {
    message: "The last save of this slot is still being stored: try again in a moment, or play another slot.",
    retryAfterSeconds: 10,
  });
}

const noInternetMessage =
  "This game needs the internet, which this site does not let games use: an admin has to allow it by the chart value games.network.";

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
      message: "All save slots of this game are in use: continue one of them.",
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

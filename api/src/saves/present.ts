import { isOngoing } from "#contracts/crd/sessionState.ts";
import { limits } from "#contracts/limits.ts";
import type {
  SaveSlotHistory,
  SaveSlotState,
  SavesResponse,
  SaveVersion as PublicVersion,
} from "#contracts/http/saves.ts";
import type { AppContext } from "../http/appContext.ts";
import type { PlayerSlot } from "./playerSlotQueries.ts";
import {
  saveBytesMaxOf,
  isCurrentVersion,
  type GameSaves,
  type HistoryVersion,
  type SlotHistory,
} from "./slotHistory.ts";
import { pictureIdOf } from "./savePictures.ts";
import type { AuditEvent } from "../audit/audit.ts";

/** Returns a player's saves of a game, always with three slots. */
export function presentSaves({ game, slots }: GameSaves): SavesResponse {
  return {
    slots: Array.from({ length: limits.saveSlotsPerGame }, (_, index) => {
      const slot = slots.find(({ number }) => number === index + 1);
      return slot === undefined ? presentEmptySlot(index + 1) : presentSlot(slot);
    }),
    saveBytesMax: saveBytesMaxOf(game.saveLimitMb),
  };
}

/** Returns one slot with its history. */
export function presentSlot(slot: SlotHistory): SaveSlotHistory {
  return {
    id: slot.id,
    slotNumber: slot.number,
    label: slot.label,
    lastPlayedAt: slot.lastPlayedAt.toISOString(),
    playSeconds: rounded(slot.playSeconds),
    state: stateOf(slot),
    versions: slot.versions.map((version) => presentVersion(slot, version)),
  };
}

function presentEmptySlot(slotNumber: number): SaveSlotHistory {
  return { id: null, slotNumber, label: null, lastPlayedAt: null, state: "empty", versions: [] };
}

function stateOf({ ownerStatus }: PlayerSlot): SaveSlotState {
  if (ownerStatus === null) return "free";
  return isOngoing(ownerStatus) ? "playing" : "storing";
}

function presentVersion(slot: PlayerSlot, version: HistoryVersion): PublicVersion {
  const { id, storedAt, bytes, kind, unreadableAt, isSuspect, playSeconds, pictureBytes } = version;
  return {
    id,
    savedAt: storedAt.toISOString(),
    bytes,
    kind,
    isCurrent: isCurrentVersion(slot, version),
    isReadable: unreadableAt === null,
    ...(isSuspect && { mayBeIncomplete: true }),
    playSeconds: rounded(playSeconds),
    ...(pictureBytes !== null && { pictureId: pictureIdOf(version.objectKey) }),
  };
}

/** Returns a duration in seconds with one decimal. */
function rounded(seconds: number): number {
  return Math.round(seconds * 10) / 10;
}

/** The actor of a change to saves; over HTTP also with address and request. */
export type SaveChange = Pick<AuditEvent, "actor" | "address" | "requestId">;

/** Returns the player as the actor of a change, with the request. */
export function playerChange({ ip, state }: AppContext, { id }: { id: string }): SaveChange {
  return { actor: { kind: "user", id }, address: ip, requestId: state.requestId };
}

/** Returns the audit event for a change to a player's saves. */
export function saveAuditEvent(
  action: string,
  change: SaveChange,
  slug: string,
  { id, number }: Pick<PlayerSlot, "id" | "number">,
): AuditEvent {
  return { action, ...change, subject: { kind: "saveSlot", id }, details: { game: slug, number } };
}

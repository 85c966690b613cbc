import type { SaveSlotHistory, SaveVersion, SaveVersionKind } from "#contracts/http/saves.ts";
import { asLine } from "#contracts/http/text.ts";
import { limits } from "#contracts/limits.ts";
import { isApiError, sentenceFor } from "../client/apiError.ts";
import { sizeText, timeAgo } from "../components/format.ts";
import type { SlotChoice } from "../launch/playPath.ts";

/** What the slots need of the page. */
export interface SlotActions {
  slug: string;
  /**
   * Undefined for a game that is not offered any more: its saves can be downloaded, renamed and deleted, and
   * nothing else.
   */
  launch: SlotLaunch | undefined;
}

/** Launches the game with a slot. */
export interface SlotLaunch {
  /** Whether a launch is under way. */
  isBusy: boolean;
  /** With which slot the last launch was asked for here; undefined where it was elsewhere on the page. */
  choice: SlotChoice | undefined;
  /** Why that one failed. */
  error: Error | null;
  onContinue: (saveSlotId: string) => void;
  onFresh: () => void;
}

/** A slot that is not empty. */
export type UsedSlot = SaveSlotHistory & { id: string };

const kindTexts: Record<SaveVersionKind, string> = {
  played: "Played",
  conflict: "From another device or server, came late",
  requested: "You asked for it",
  restored: "Restored",
  imported: "Uploaded or copied",
};

/** What an archive may have on top of its files' bytes. */
const packingBytes = limits.save.packedBytes - limits.save.unpackedBytes;

/** Returns whether the slot has something. */
export function isUsed(slot: SaveSlotHistory): slot is UsedSlot {
  return slot.id !== null;
}

/** Returns why a version is kept, in words. */
export function kindText(kind: SaveVersionKind): string {
  return kindTexts[kind];
}

/** Returns what a slot is called in sentences and buttons, such as `slot 2, “Before the boss”`. */
export function slotName({ slotNumber, label }: SaveSlotHistory): string {
  return label === null ? `slot ${slotNumber}` : `slot ${slotNumber}, “${label}”`;
}

/** Returns when a slot was last played, as a sentence without its full stop. */
export function lastPlayedText(
  { id, lastPlayedAt }: Pick<SaveSlotHistory, "id" | "lastPlayedAt">,
  now: number,
): string {
  if (id === null) return "Nothing saved yet";
  return lastPlayedAt === null ? "Not played yet" : `Last played ${timeAgo(lastPlayedAt, now)}`;
}

/** Returns the version that the slot goes on with; undefined before its first save. */
export function currentVersion({ versions }: Pick<SaveSlotHistory, "versions">): SaveVersion | undefined {
  return versions.find(({ isCurrent }) => isCurrent);
}

/**
 * Returns the newest version before the one of that id that can be read and that the slot does not go on with
 * already.
 */
export function readableBefore(versions: readonly SaveVersion[], versionId: string): SaveVersion | undefined {
  const place = versions.findIndex(({ id }) => id === versionId);
  if (place < 0) return undefined;
  const before = versions.slice(place + 1).find(({ isReadable }) => isReadable);
  return before?.isCurrent === true ? undefined : before;
}

/** Returns whether a conflict copy came after the save that the slot goes on with. */
export function hasLateCopy({ versions }: Pick<SaveSlotHistory, "versions">): boolean {
  const current = versions.findIndex(({ isCurrent }) => isCurrent);
  return versions.slice(0, current < 0 ? versions.length : current).some(({ kind }) => kind === "conflict");
}

/**
 * Returns whether a file of this size can be a save's archive at all, where a save's files may take
 * `saveBytesMax`.
 */
export function isTooLarge(fileBytes: number, saveBytesMax: number): boolean {
  return fileBytes > Math.min(limits.save.packedBytes, saveBytesMax + packingBytes);
}

/** Returns a sentence: a save may have at most this size. */
export function tooLargeText(saveBytesMax: number): string {
  return `This save is too large: the saves of this game may have at most ${sizeText(saveBytesMax)}.`;
}

/** Returns a sentence for a failed upload. */
export function uploadProblem(error: unknown, saveBytesMax: number): string {
  return isApiError(error, "payload_too_large") ? tooLargeText(saveBytesMax) : sentenceFor(error);
}

/** Returns what is wrong with a slot's new name, if anything. */
export function labelProblem(label: string): string | undefined {
  return Array.from(asLine(label).normalize("NFC").trim()).length > limits.save.labelMaxLength
    ? `A name may have at most ${limits.save.labelMaxLength} characters.`
    : undefined;
}

/** Returns how many saves a slot has, such as `its 3 saves`. */
export function savesCountText({ versions }: Pick<SaveSlotHistory, "versions">): string {
  if (versions.length === 0) return "no saves yet";
  return versions.length === 1 ? "its save" : `all of its ${versions.length} saves`;
}

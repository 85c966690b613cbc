import type { SaveSlotHistory, SaveVersion, SaveVersionKind } from "#contracts/http/saves.ts";
import { asLine } from "#contracts/http/text.ts";
import { limits } from "#contracts/limits.ts";
import { isApiError, describeError } from "../client/apiError.ts";
import { formatDuration, formatSize, formatTimeAgo } from "../components/format.ts";
import { t } from "../i18n.ts";
import type { SlotChoice } from "../launch/playPath.ts";

/** The actions that the page gives to the slots. */
export interface SlotActions {
  slug: string;
  /**
   * Undefined for a game that is no longer offered: its saves can only be downloaded, renamed and deleted.
   */
  launch: SlotLaunch | undefined;
}

/** Launches the game with a slot. */
export interface SlotLaunch {
  /** Whether a launch is under way. */
  isBusy: boolean;
  /** The slot of the last launch; undefined if it was started elsewhere on the page. */
  choice: SlotChoice | undefined;
  /** Why the last launch failed. */
  error: Error | null;
  onContinue: (saveSlotId: string) => void;
  onFresh: () => void;
}

/** A slot that is not empty. */
export type UsedSlot = SaveSlotHistory & { id: string };

/** Maximum overhead of an archive over the size of its files. */
const packingBytes = limits.save.packedBytes - limits.save.unpackedBytes;

/** Returns whether the slot is in use. */
export function isUsed(slot: SaveSlotHistory): slot is UsedSlot {
  return slot.id !== null;
}

/** Returns the origin of a version as text. */
export function describeKind(kind: SaveVersionKind): string {
  return t(`saves:kind.${kind}`);
}

/** Returns the name of a slot for use in sentences, such as `slot 2, “Before the boss”`. */
export function describeSlot({ slotNumber, label }: SaveSlotHistory): string {
  return label === null
    ? t("saves:slot", { number: slotNumber })
    : t("saves:slotWithName", { number: slotNumber, name: label });
}

/** Play times below this say nothing, in seconds. */
const noticeableSeconds = 60;

/** Returns when and how long a slot was played, such as `Last played 3 days ago, 1 h 5 min in total`. */
export function describeLastPlayed(
  { id, lastPlayedAt, playSeconds = 0 }: Pick<SaveSlotHistory, "id" | "lastPlayedAt" | "playSeconds">,
  now: number,
): string {
  if (id === null) return t("saves:nothingSaved");
  if (lastPlayedAt === null) return t("saves:notPlayed");
  const time = formatTimeAgo(lastPlayedAt, now);
  return playSeconds < noticeableSeconds
    ? t("saves:lastPlayed", { time })
    : t("saves:lastPlayedFor", { time, duration: formatDuration(playSeconds) });
}

/** Returns how long the slot had been played when a version was stored; undefined if that is too short. */
export function describePlayTime({ playSeconds = 0 }: Pick<SaveVersion, "playSeconds">): string | undefined {
  return playSeconds < noticeableSeconds
    ? undefined
    : t("saves:versions.played", { duration: formatDuration(playSeconds) });
}

/** Returns the version that the slot continues from; undefined before its first save. */
export function findCurrentVersion({ versions }: Pick<SaveSlotHistory, "versions">): SaveVersion | undefined {
  return versions.find(({ isCurrent }) => isCurrent);
}

/** Returns the newest readable version before the one with this id, unless it is the current one. */
export function findReadableBefore(
  versions: readonly SaveVersion[],
  versionId: string,
): SaveVersion | undefined {
  const place = versions.findIndex(({ id }) => id === versionId);
  if (place < 0) return undefined;
  const before = versions.slice(place + 1).find(({ isReadable }) => isReadable);
  return before?.isCurrent === true ? undefined : before;
}

/** Returns whether a conflict copy is newer than the current version. */
export function hasLateCopy({ versions }: Pick<SaveSlotHistory, "versions">): boolean {
  const current = versions.findIndex(({ isCurrent }) => isCurrent);
  return versions.slice(0, current < 0 ? versions.length : current).some(({ kind }) => kind === "conflict");
}

/**
 * Returns whether a file is too large for the archive of a save whose files may take `saveBytesMax` bytes.
 */
export function isTooLarge(fileBytes: number, saveBytesMax: number): boolean {
  return fileBytes > Math.min(limits.save.packedBytes, saveBytesMax + packingBytes);
}

/** Returns the sentence for a save that is larger than this size. */
export function describeTooLarge(saveBytesMax: number): string {
  return t("saves:upload.tooLarge", { max: formatSize(saveBytesMax) });
}

/** Returns the sentence for a failed upload. */
export function describeUploadError(error: unknown, saveBytesMax: number): string {
  return isApiError(error, "payload_too_large") ? describeTooLarge(saveBytesMax) : describeError(error);
}

/** Returns what is wrong with the new name of a slot, if anything. */
export function findLabelProblem(label: string): string | undefined {
  return Array.from(asLine(label).normalize("NFC").trim()).length > limits.save.labelMaxLength
    ? t("saves:rename.tooLong", { max: limits.save.labelMaxLength })
    : undefined;
}

/** Returns the saves of a slot for use in a sentence, such as `all of its 3 saves`. */
export function describeSavesCount({ versions }: Pick<SaveSlotHistory, "versions">): string {
  return versions.length === 0 ? t("saves:count.none") : t("saves:count.all", { count: versions.length });
}

import { isEarlier, parseSaveKey, saveKeyOfPicture, type SavePosition } from "#contracts/objectKeys.ts";
import { namedSaves, newestSaveOf, type NamedSaveObject, type StoredSaveObject } from "./saveObjectStore.ts";
import type { SaveVersion } from "./saveVersionQueries.ts";

/** Recorded state of a slot. */
export interface SlotRecord {
  objectKey: string | null;
  generation: number;
  savedBySession: string | null;
  sequence: number;
  attempt: number;
  /** Session that owns the slot; null when none does. */
  owner: string | null;
  /** Object of the slot at the previous sweep, at least an hour ago. */
  seenKey: string | null;
  versions: readonly Pick<SaveVersion, "objectKey" | "gameSession" | "sequence" | "attempt" | "storedAt">[];
}

/** Actions of a sweep for the objects of a slot that no version references. */
interface SweepPlan {
  /** Keys of saves that a later save of the same session superseded, and of objects with an unknown name. */
  superseded: string[];
  /** Last saves of sessions without a recorded save, oldest first. */
  unrecorded: NamedSaveObject[];
  /**
   * Sessions that still have unreferenced objects. A later sweep checks them again and needs their versions.
   */
  unfinished: ReadonlySet<string>;
}

/**
 * Plans what to do with the objects of a slot that are older than an hour and that neither the slot nor a
 * version references. Objects newer than the last recorded save of their session are kept: they are about to
 * be recorded, or their report was lost.
 */
export function planSweep(objects: readonly StoredSaveObject[], record: SlotRecord, now: Date): SweepPlan {
  const names = new Set([record.objectKey, ...record.versions.map(({ objectKey }) => objectKey)]);
  const stored = new Set(objects.map(({ key }) => key));
  // A picture is removed with its save. One without a save remained when its save was not stored.
  const hasSave = ({ key }: StoredSaveObject): boolean => stored.has(saveKeyOfPicture(key) ?? "");
  const unreferenced = objects.filter((object) => !names.has(object.key) && !hasSave(object));
  const old = unreferenced.filter(({ storedAt }) => isPast(storedAt, now));
  const agentSaves = namedSaves(old);
  const superseded = agentSaves.filter((save) => isSuperseded(save, record, now));
  const foreign = old.filter(({ key }) => parseSaveKey(key) === undefined);
  const removed = new Set([...superseded, ...foreign].map(({ key }) => key));
  const unrecorded = [...new Set(agentSaves.map(({ gameSession }) => gameSession))]
    .filter((id) => id !== record.owner)
    .flatMap((id) => newestSaveOf(agentSaves, id) ?? [])
    .filter(
      (save) =>
        !removed.has(save.key) &&
        !recordedPositions(save, record).some((position) => isEarlier(save, position)),
    );
  return {
    superseded: [...removed],
    unrecorded: unrecorded.toSorted((a, b) => a.storedAt.getTime() - b.storedAt.getTime()),
    unfinished: new Set(
      unreferenced
        .filter(({ key }) => !removed.has(key))
        .map(({ key }) => parseSaveKey(key)?.gameSession ?? ""),
    ),
  };
}

/** Returns whether a later save of the session has been recorded for an hour. */
function isSuperseded(save: NamedSaveObject, { versions, seenKey }: SlotRecord, now: Date): boolean {
  const seen = seenKey === null ? undefined : parseSaveKey(seenKey);
  if (seen?.gameSession === save.gameSession && isEarlier(save, seen)) return true;
  return versions.some(
    (version) =>
      version.gameSession === save.gameSession && isEarlier(save, version) && isPast(version.storedAt, now),
  );
}

function recordedPositions({ gameSession }: NamedSaveObject, record: SlotRecord): SavePosition[] {
  const versions = record.versions.filter((version) => version.gameSession === gameSession);
  return record.savedBySession === gameSession ? [...versions, record] : versions;
}

function isPast(time: Date, now: Date): boolean {
  return now.getTime() - time.getTime() >= graceMs;
}

/** How much of a slot's history is kept. */
export interface HistoryRule {
  /** Number of the slot's last versions that are kept. */
  versionsKept: number;
  /** Number of days for which the last version of each day is kept. */
  dailyVersionsDays: number;
  /** Retention of conflict copies. */
  retentionMs: number;
}

type DatedVersion = Pick<SaveVersion, "id" | "kind" | "storedAt" | "supersededAt">;

/** A session reads the save that it starts from within this time, even if the save is replaced. */
export const graceMs = 3600_000;
const dayMs = 24 * 3600_000;

/**
 * Returns the versions of a slot to keep, newest first: the current one, the last ones, the last one of each
 * earlier day, recent conflict copies, and those superseded within the last hour. A dropped version stays
 * dropped.
 */
export function keptVersions<Version extends DatedVersion>(
  versions: readonly Version[],
  rule: HistoryRule,
  now: Date,
): Version[] {
  const newestFirst = versions.toSorted((a, b) => b.storedAt.getTime() - a.storedAt.getTime());
  const days = new Set<number>();
  return newestFirst.filter((version, index) => {
    const day = Math.floor(version.storedAt.getTime() / dayMs);
    const isLastOfDay = !days.has(day);
    days.add(day);
    if (index < rule.versionsKept || isWanted(version, rule, now)) return true;
    return isLastOfDay && ageMs(version.storedAt, now) < rule.dailyVersionsDays * dayMs;
  });
}

function isWanted(
  { kind, storedAt, supersededAt }: DatedVersion,
  { retentionMs }: HistoryRule,
  now: Date,
): boolean {
  if (kind === "conflict") return ageMs(storedAt, now) < Math.max(retentionMs, graceMs);
  // A requested save was never the slot's current one, so only its age decides.
  if (supersededAt === null) return kind !== "requested";
  return ageMs(supersededAt, now) < graceMs;
}

function ageMs(since: Date, now: Date): number {
  return now.getTime() - since.getTime();
}

import { parseSaveKey, type SaveName } from "#contracts/objectKeys.ts";

/** A save in the object store. */
export interface StoredSaveObject {
  key: string;
  storedAt: Date;
}

/** Which of a slot's saves nobody needs any more, and when the next of them will be such a one. */
export interface SupersededSaves {
  keys: string[];
  nextAt: Date | undefined;
}

type NamedSave = StoredSaveObject & SaveName;

/** A session that starts from a save has read it within this time, whatever took the save's place meanwhile. */
const graceMs = 3600_000;

/**
 * Judges a slot's saves by the one that the slot points to. The earlier ones of a session are superseded by its later ones; the
 * last one of each earlier session stays for `retentionMs` after a later session's took its place, so that a mishap, or a
 * database that was restored, finds it. What is newer than the slot's save is about to be recorded, and stays; so does
 * everything when the slot has no save yet, or its own is not there.
 */
export function findSupersededSaves(
  saves: readonly StoredSaveObject[], currentKey: string | null, { now, retentionMs }: { now: Date; retentionMs: number },
): SupersededSaves {
  const named = saves.flatMap((save): NamedSave[] => {
    const name = parseSaveKey(save.key);
    return name === undefined ? [] : [{ ...save, ...name }];
  });
  const current = named.find(({ key }) => key === currentKey);
  if (current === undefined) return { keys: [], nextAt: undefined };
  const ends = named.map((save) => ({ key: save.key, atMs: endOf(save, current, named, retentionMs) }));
  const nextMs = Math.min(...ends.map(({ atMs }) => atMs).filter((atMs) => atMs > now.getTime()));
  return {
    keys: ends.filter(({ atMs }) => atMs <= now.getTime()).map(({ key }) => key),
    nextAt: nextMs === Infinity ? undefined : new Date(nextMs),
  };
}

/** Until when the save is kept, in milliseconds of the clock. */
function endOf(save: NamedSave, current: NamedSave, all: readonly NamedSave[], retentionMs: number): number {
  const isCurrents = isSameSession(save, current);
  if (save.generation > current.generation || (isCurrents && save.sequence >= current.sequence)) return Infinity;
  const laterOfSession = all.filter((other) => isSameSession(save, other) && other.sequence > save.sequence);
  if (laterOfSession.length > 0) return firstStored(laterOfSession) + graceMs;
  // Of the same generation is what lost the race for the slot: it was superseded when it came.
  const followers = save.generation === current.generation ? [save] : all.filter(({ generation }) => generation > save.generation);
  return firstStored(followers) + Math.max(retentionMs, graceMs);
}

function firstStored(saves: readonly NamedSave[]): number {
  return Math.min(...saves.map(({ storedAt }) => storedAt.getTime()));
}

function isSameSession(one: SaveName, other: SaveName): boolean {
  return one.generation === other.generation && one.gameSession === other.gameSession;
}

import { parseSaveKey, type SaveName } from "#contracts/objectKeys.ts";
import type { StoredSaveObject } from "./newestSave.ts";

/** The keys of a slot's saves that nobody needs any more, and when the next save will be superseded. */
export interface SupersededSaves {
  keys: string[];
  nextAt: Date | undefined;
}

type NamedSave = StoredSaveObject & SaveName;

/** A session that starts from a save has read it within this time, even when another save took its place meanwhile. */
const graceMs = 3600_000;

/**
 * Compares a slot's saves with the one that the slot points to. The earlier ones of a session are superseded by its later ones; the
 * last one of each earlier session stays for `retentionMs` after a later session's took its place, so that a mistake can be undone and
 * a restored database finds it. A save newer than the slot's is about to be recorded, and stays; every save stays when the slot has
 * none yet, or when its own is missing.
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
  // A slot may have tens of thousands of saves: each is compared with those of its own session and with the first of every generation.
  const bySession = Map.groupBy(named, sessionOf);
  const firstStored = new Map([...Map.groupBy(named, ({ generation }) => generation)].map(([generation, ofIt]) => [generation, firstOf(ofIt)]));
  const keys: string[] = [];
  let nextMs = Infinity;
  for (const save of named) {
    const endMs = endOf(save, current, { ofSession: bySession.get(sessionOf(save)) ?? [], firstStored, retentionMs });
    if (endMs <= now.getTime()) keys.push(save.key);
    else nextMs = Math.min(nextMs, endMs);
  }
  return { keys, nextAt: nextMs === Infinity ? undefined : new Date(nextMs) };
}

interface OtherSaves {
  ofSession: readonly NamedSave[];
  /** When the first save of each generation was stored, in milliseconds of the epoch. */
  firstStored: ReadonlyMap<number, number>;
  retentionMs: number;
}

/** Returns until when the save is kept, in milliseconds of the epoch. */
function endOf(save: NamedSave, current: NamedSave, { ofSession, firstStored, retentionMs }: OtherSaves): number {
  const isCurrents = sessionOf(save) === sessionOf(current);
  if (save.generation > current.generation || (isCurrents && !isEarlier(save, current))) return Infinity;
  const laterOfSession = ofSession.filter((other) => isEarlier(save, other));
  if (laterOfSession.length > 0) return firstOf(laterOfSession) + graceMs;
  // Another session's save of the same generation lost the race for the slot: it was superseded when it came.
  const followed = save.generation === current.generation
    ? save.storedAt.getTime() : Math.min(...[...firstStored].filter(([generation]) => generation > save.generation).map(([, ms]) => ms));
  return followed + Math.max(retentionMs, graceMs);
}

/** Whether one of two saves of a session is the earlier. Sequences count through all runs of its packer, and two runs may have reached the same one. */
function isEarlier(save: SaveName, other: SaveName): boolean {
  return save.sequence < other.sequence || (save.sequence === other.sequence && save.attempt < other.attempt);
}

function firstOf(saves: readonly NamedSave[]): number {
  return saves.reduce((firstMs, { storedAt }) => Math.min(firstMs, storedAt.getTime()), Infinity);
}

function sessionOf({ generation, gameSession }: SaveName): string {
  return `${generation}-${gameSession}`;
}

import { lowestEmptyNumber } from "../saves/slotHistory.ts";

/** A save slot that is in use. */
export interface Slot {
  id: string;
  number: number;
  /** Stored save; both are null until there is one. */
  objectKey: string | null;
  sha256: string | null;
  generation: number;
  /** Size of the stored save, packed. */
  bytes: number | null;
  /** What the save's files take in memory; null for saves of a release that did not count it. */
  unpackedBytes: number | null;
  /** Whether a session owns the slot: its last save has not come yet. */
  isPending: boolean;
  /** Whether the stored save was found missing or damaged. */
  isUnreadable: boolean;
}

/** The slot that the player asked for; neither field means the most recently played one. */
export interface SlotWish {
  saveSlotId?: string | undefined;
  fresh?: boolean | undefined;
}

/**
 * What was chosen: a slot to continue, a number for a new one, or nothing because the slot is unknown or all
 * are in use.
 */
export type SlotChoice =
  | { kind: "continue"; slot: Slot }
  | { kind: "fresh"; number: number }
  | { kind: "unknown" }
  | { kind: "full" };

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

import type { SaveSlot } from "#contracts/http/catalog.ts";
import { Icon } from "../components/Icon.tsx";
import { timeAgo } from "../components/timeText.ts";

interface SaveSlotsProps {
  slots: readonly SaveSlot[];
  now: number;
  isBusy: boolean;
  onContinue: (saveSlotId: string) => void;
  onFresh: () => void;
}

/** A game's save slots. A new game always takes the first empty one, so only that one has the button for it. */
export function SaveSlots({ slots, now, isBusy, onContinue, onFresh }: SaveSlotsProps) {
  const firstEmpty = slots.find(({ id }) => id === null)?.slotNumber;
  return (
    <ol className="slots" aria-label="Save slots">
      {slots.map((slot) => (
        <li key={slot.slotNumber} className={slot.id === null ? "slot slot-empty" : "slot"}>
          <span className="slot-number" aria-hidden="true">{slot.slotNumber}</span>
          <div className="slot-text">
            <strong>{slot.id === null ? "Empty slot" : (slot.label ?? `Slot ${slot.slotNumber}`)}</strong>
            <span>{lastPlayed(slot, now)}</span>
          </div>
          <SlotButton slot={slot} isFirstEmpty={slot.slotNumber === firstEmpty} isBusy={isBusy} onContinue={onContinue} onFresh={onFresh} />
        </li>
      ))}
    </ol>
  );
}

function SlotButton({ slot, isFirstEmpty, isBusy, onContinue, onFresh }: Omit<SaveSlotsProps, "slots" | "now"> & { slot: SaveSlot; isFirstEmpty: boolean }) {
  const { id, slotNumber } = slot;
  if (id !== null) {
    return (
      <button type="button" className="button" disabled={isBusy} aria-label={`Continue slot ${slotNumber}`} onClick={() => onContinue(id)}>
        <Icon name="play" />Continue
      </button>
    );
  }
  if (!isFirstEmpty) return null;
  return (
    <button type="button" className="button" disabled={isBusy} aria-label={`New game in slot ${slotNumber}`} onClick={onFresh}>
      <Icon name="plus" />New game
    </button>
  );
}

function lastPlayed({ id, lastPlayedAt }: SaveSlot, now: number): string {
  if (id === null) return "Nothing saved yet";
  return lastPlayedAt === null ? "Not played yet" : `Last played ${timeAgo(lastPlayedAt, now)}`;
}

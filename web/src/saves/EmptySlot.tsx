import { ActionButton } from "../components/ActionButton.tsx";
import { Icon } from "../components/Icon.tsx";
import type { SlotActions } from "./slotActions.ts";
import { UploadSave } from "./UploadSave.tsx";

/** A slot without anything. A new game, and an upload, take the first empty one, so only that one has the buttons for it. */
export function EmptySlot({ slotNumber, isFirst, saveBytesMax, actions, announce }: {
  slotNumber: number;
  isFirst: boolean;
  saveBytesMax: number;
  actions: SlotActions;
  announce: (text: string) => void;
}) {
  return (
    <li className="slot slot-empty">
      <div className="slot-head">
        <span className="slot-number" aria-hidden="true">{slotNumber}</span>
        <div className="slot-text">
          <strong>Empty slot</strong>
          <span>Nothing saved yet</span>
        </div>
        {isFirst && (
          <ActionButton className="button" isBusy={actions.isBusy} aria-label={`New game in slot ${slotNumber}`} onClick={actions.onFresh}>
            <Icon name="plus" />New game
          </ActionButton>
        )}
      </div>
      {isFirst && <UploadSave slug={actions.slug} slotNumber={slotNumber} slotId={undefined} saveBytesMax={saveBytesMax} announce={announce} />}
    </li>
  );
}

import { ActionButton } from "../components/ActionButton.tsx";
import { Icon } from "../components/Icon.tsx";
import type { SlotActions } from "./slotActions.ts";
import { UploadSave } from "./UploadSave.tsx";
import type { SaveUpload } from "./useSaveUpload.ts";

/** A slot without anything. A new game, and an upload, take the first empty one, so only that one has the buttons for it. */
export function EmptySlot({ slotNumber, isFirst, actions, upload }: {
  slotNumber: number;
  isFirst: boolean;
  actions: SlotActions;
  upload: SaveUpload;
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
      {isFirst && <UploadSave slotNumber={slotNumber} upload={upload} />}
    </li>
  );
}

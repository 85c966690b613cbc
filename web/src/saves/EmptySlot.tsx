import { ActionButton } from "../components/ActionButton.tsx";
import { Icon } from "../components/Icon.tsx";
import type { SlotLaunch } from "./slotActions.ts";
import { UploadSave } from "./UploadSave.tsx";
import type { SaveUpload } from "./useSaveUpload.ts";

/**
 * A slot without anything. A new game, and an upload, take the first empty one, so only that one has the
 * buttons for it, if the game is offered.
 */
export function EmptySlot({
  slotNumber,
  isFirst,
  launch,
  upload,
}: {
  slotNumber: number;
  isFirst: boolean;
  launch: SlotLaunch | undefined;
  upload: SaveUpload;
}) {
  const isUsable = isFirst && launch !== undefined;
  const label = launch?.isBusy === true && launch.choice?.fresh === true ? "Launching…" : "New game";
  return (
    <li className="slot slot-empty">
      <div className="slot-head">
        <span className="slot-number" aria-hidden="true">
          {slotNumber}
        </span>
        <div className="slot-text">
          <strong>Empty slot</strong>
          <span>Nothing saved yet</span>
        </div>
        {isUsable && (
          <ActionButton
            className="button"
            isBusy={launch.isBusy}
            aria-label={`${label} in slot ${slotNumber}`}
            onClick={launch.onFresh}
          >
            <Icon name="plus" />
            {label}
          </ActionButton>
        )}
      </div>
      {isUsable && <UploadSave slotNumber={slotNumber} upload={upload} />}
    </li>
  );
}

import { useState, type RefObject } from "react";
import { sentenceFor } from "../client/apiError.ts";
import { copySlot } from "../client/saves.ts";
import { ActionButton } from "../components/ActionButton.tsx";
import { DeleteDialog } from "./DeleteDialog.tsx";
import { currentVersion, slotName, type UsedSlot } from "./slotText.ts";
import { UploadSave } from "./UploadSave.tsx";
import { useSavesChange } from "./useSaves.ts";
import { useSaveUpload } from "./useSaveUpload.ts";

/**
 * What can be done with a slot as a whole. One in use can only be renamed, one of a game that is not offered
 * any more only renamed and deleted.
 */
export function SlotTools({
  slug,
  slot,
  isOffered,
  saveBytesMax,
  hasEmptySlot,
  renameButton,
  onRename,
  announce,
}: {
  slug: string;
  slot: UsedSlot;
  isOffered: boolean;
  saveBytesMax: number;
  hasEmptySlot: boolean;
  renameButton: RefObject<HTMLButtonElement | null>;
  onRename: () => void;
  announce: (text: string) => void;
}) {
  const { id: slotId, slotNumber, state } = slot;
  const [isDeleting, setIsDeleting] = useState(false);
  const copy = useSavesChange(slug, announce);
  const isFree = state === "free";
  const startCopy = (): void =>
    copy.mutate({
      work: () => copySlot({ slug, slotId }),
      done: `The save of ${slotName(slot)} was copied into an empty slot.`,
    });
  return (
    <div className="slot-tools">
      <button
        ref={renameButton}
        type="button"
        className="button button-small"
        aria-label={`Rename slot ${slotNumber}`}
        onClick={onRename}
      >
        Rename
      </button>
      {isFree && isOffered && hasEmptySlot && currentVersion(slot)?.isReadable === true && (
        <ActionButton
          className="button button-small"
          isBusy={copy.isPending}
          aria-label={`Copy slot ${slotNumber} to an empty slot`}
          onClick={startCopy}
        >
          {copy.isPending ? "Copying…" : "Copy"}
        </ActionButton>
      )}
      {isFree && (
        <button
          type="button"
          className="button button-small button-danger"
          aria-label={`Delete slot ${slotNumber}`}
          onClick={() => setIsDeleting(true)}
        >
          Delete
        </button>
      )}
      {isFree && isOffered && (
        <UploadIntoSlot slug={slug} slot={slot} saveBytesMax={saveBytesMax} announce={announce} />
      )}
      {copy.isError && (
        <p className="message message-problem" role="alert">
          {sentenceFor(copy.error)}
        </p>
      )}
      {isDeleting && (
        <DeleteDialog slug={slug} slot={slot} announce={announce} onDismiss={() => setIsDeleting(false)} />
      )}
    </div>
  );
}

/** Replaces the slot's save by an upload, which ends when the slot is deleted or taken. */
function UploadIntoSlot({
  slug,
  slot: { id: slotId, slotNumber },
  saveBytesMax,
  announce,
}: {
  slug: string;
  slot: UsedSlot;
  saveBytesMax: number;
  announce: (text: string) => void;
}) {
  return (
    <UploadSave slotNumber={slotNumber} upload={useSaveUpload({ slug, slotId, saveBytesMax, announce })} />
  );
}

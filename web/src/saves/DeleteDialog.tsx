import { sentenceFor } from "../client/apiError.ts";
import { deleteSlot } from "../client/saves.ts";
import { ActionButton } from "../components/ActionButton.tsx";
import { Dialog } from "../components/Dialog.tsx";
import { savesCountText, slotName, type UsedSlot } from "./slotText.ts";
import { useSavesChange } from "./useSaves.ts";

/** Asks whether a slot is to be deleted. */
export function DeleteDialog({
  slug,
  slot,
  announce,
  onDismiss,
}: {
  slug: string;
  slot: UsedSlot;
  announce: (text: string) => void;
  onDismiss: () => void;
}) {
  const { mutate, isPending, error } = useSavesChange(slug, announce);
  const remove = (): void =>
    mutate(
      {
        work: () => deleteSlot({ slug, slotId: slot.id }),
        done: `Slot ${slot.slotNumber} was deleted and is empty now.`,
      },
      { onSuccess: onDismiss },
    );
  return (
    <Dialog
      title={`Delete slot ${slot.slotNumber}?`}
      isBusy={isPending}
      onDismiss={onDismiss}
      actions={
        <>
          <ActionButton className="button button-danger" isBusy={isPending} onClick={remove}>
            {isPending ? "Deleting…" : "Delete it"}
          </ActionButton>
          <button type="button" className="button" disabled={isPending} onClick={onDismiss}>
            Keep it
          </button>
        </>
      }
    >
      <p>
        You lose {slotName(slot)}, with {savesCountText(slot)}. Download first what you may want again.
      </p>
      {error !== null && (
        <p className="message message-problem" role="alert">
          {sentenceFor(error)}
        </p>
      )}
    </Dialog>
  );
}

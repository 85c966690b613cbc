import type { SaveVersion } from "#contracts/http/saves.ts";
import { isApiError, sentenceFor } from "../client/apiError.ts";
import { restoreSave } from "../client/saves.ts";
import { ActionButton } from "../components/ActionButton.tsx";
import { Dialog } from "../components/Dialog.tsx";
import { momentText } from "../components/timeText.ts";
import { currentVersion, kindText, slotName, type UsedSlot } from "./slotText.ts";
import { useSavesChange } from "./useSaves.ts";

/**
 * Asks whether a version is to be the slot's save again. When it turns out to be damaged, it offers the one
 * before it.
 */
export function RestoreDialog({
  slug,
  slot,
  version,
  announce,
  onDismiss,
}: {
  slug: string;
  slot: UsedSlot;
  version: SaveVersion;
  announce: (text: string) => void;
  onDismiss: () => void;
}) {
  const { mutate, isPending, error } = useSavesChange(slug, announce);
  const current = currentVersion(slot);
  const readableId = isApiError(error, "unreadable_save") ? error.readableVersionId : undefined;
  const readable = slot.versions.find(({ id, isCurrent }) => id === readableId && !isCurrent);
  const chosen = readable ?? version;
  const isLost = isApiError(error, "unreadable_save") && readable === undefined;
  const restore = (): void =>
    mutate(
      {
        work: () => restoreSave({ slug, slotId: slot.id }, chosen.id),
        done: `The save of ${momentText(chosen.savedAt)} is again the save of ${slotName(slot)}.`,
      },
      { onSuccess: onDismiss },
    );
  return (
    <Dialog
      title={readable === undefined ? "Restore this save?" : "Restore the one before it?"}
      isBusy={isPending}
      onDismiss={onDismiss}
      actions={
        <>
          <ActionButton
            className="button button-primary"
            isBusy={isPending}
            disabled={isLost}
            onClick={restore}
          >
            {isPending
              ? "Restoring…"
              : readable === undefined
                ? "Restore it"
                : `Restore the save of ${momentText(readable.savedAt)}`}
          </ActionButton>
          <button type="button" className="button" disabled={isPending} onClick={onDismiss}>
            Cancel
          </button>
        </>
      }
    >
      <p>
        The save of <strong>{momentText(chosen.savedAt)}</strong> ({kindText(chosen.kind)}) becomes the save
        of {slotName(slot)}.
        {current !== undefined && (
          <>
            {" "}
            It replaces the current save of <strong>{momentText(current.savedAt)}</strong>, which stays in the
            list.
          </>
        )}
      </p>
      {error !== null && (
        <p className="message message-problem" role="alert">
          {problemOf(error, readable !== undefined)}
        </p>
      )}
    </Dialog>
  );
}

function problemOf(error: Error, hasReadable: boolean): string {
  if (!isApiError(error, "unreadable_save")) return sentenceFor(error);
  return hasReadable
    ? "That save is missing or damaged. The one before it can be read."
    : "That save is missing or damaged, and there is no other one before it to restore.";
}

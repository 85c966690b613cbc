import type { SaveVersion } from "#contracts/http/saves.ts";
import { isApiError, sentenceFor } from "../client/apiError.ts";
import { restoreSave, deleteSlot } from "../client/saves.ts";
import { ActionButton } from "../components/ActionButton.tsx";
import { Dialog } from "../components/Dialog.tsx";
import { momentText } from "../components/format.ts";
import {
  currentVersion,
  kindText,
  slotName,
  type UsedSlot,
  lastPlayedText,
  savesCountText,
  type SlotLaunch,
} from "./slotText.ts";
import { useSavesChange } from "./useSaves.ts";
import { useId, useState } from "react";
import { useLaunchObstacle } from "../launch/useActiveGameSession.ts";

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

/**
 * Asks which slot a new game is to replace, or which one is only to be deleted. Slots in use cannot be
 * chosen. A slot is gone before the launch is asked for, so none is deleted for a new game while the page
 * knows that none would start.
 */
export function ReplaceDialog({
  slug,
  slots,
  now,
  onFresh,
  announce,
  onDismiss,
}: Pick<SlotLaunch, "onFresh"> & {
  slug: string;
  slots: readonly UsedSlot[];
  now: number;
  announce: (text: string) => void;
  onDismiss: () => void;
}) {
  const [chosenId, setChosenId] = useState<string>();
  const { mutate, isPending, error } = useSavesChange(slug, announce);
  const obstacle = useLaunchObstacle();
  const chosen = slots.find(({ id, state }) => id === chosenId && state === "free");
  const remove = (onDone: () => void): void => {
    if (chosen === undefined) return;
    mutate(
      {
        work: () => deleteSlot({ slug, slotId: chosen.id }),
        done: `Slot ${chosen.slotNumber} was deleted and is empty now.`,
      },
      { onSuccess: onDone },
    );
  };
  const replace = (): void =>
    remove(() => {
      onDismiss();
      onFresh();
    });
  return (
    <Dialog
      title="Which slot do you want to replace?"
      isBusy={isPending}
      onDismiss={onDismiss}
      actions={
        <>
          <ActionButton
            className="button button-danger"
            isBusy={isPending}
            disabled={chosen === undefined || obstacle !== undefined}
            onClick={replace}
          >
            {isPending ? "Deleting…" : "Delete it and start a new game"}
          </ActionButton>
          <ActionButton
            className="button"
            isBusy={isPending}
            disabled={chosen === undefined}
            onClick={() => remove(onDismiss)}
          >
            Only delete it
          </ActionButton>
          <button type="button" className="button button-quiet" disabled={isPending} onClick={onDismiss}>
            Cancel
          </button>
        </>
      }
    >
      <fieldset className="choices">
        <legend className="visually-hidden">Slot to replace</legend>
        {slots.map((slot) => (
          <SlotChoice
            key={slot.id}
            slot={slot}
            now={now}
            isChosen={slot === chosen}
            onChoose={() => setChosenId(slot.id)}
          />
        ))}
      </fieldset>
      <div role="status">
        {chosen !== undefined && (
          <p>
            You lose <strong>{slotName(chosen)}</strong>, with {savesCountText(chosen)}. Download first what
            you may want again.
          </p>
        )}
        <p>
          {obstacle ?? "The slot is deleted first, and does not come back if the new game then cannot start."}
        </p>
      </div>
      {error !== null && (
        <p className="message message-problem" role="alert">
          {sentenceFor(error)}
        </p>
      )}
    </Dialog>
  );
}

function SlotChoice({
  slot,
  now,
  isChosen,
  onChoose,
}: {
  slot: UsedSlot;
  now: number;
  isChosen: boolean;
  onChoose: () => void;
}) {
  const id = useId();
  return (
    <div className="choice">
      <input
        id={id}
        type="radio"
        name="slot"
        checked={isChosen}
        disabled={slot.state !== "free"}
        onChange={onChoose}
      />
      <label htmlFor={id}>
        <strong>
          Slot {slot.slotNumber}: {slot.label}
        </strong>
        <span>
          {slot.state === "playing"
            ? "Is being played"
            : slot.state === "storing"
              ? "Its last save is still on its way"
              : lastPlayedText(slot, now)}
        </span>
      </label>
    </div>
  );
}

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

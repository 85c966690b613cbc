import { useId, useState } from "react";
import { sentenceFor } from "../client/apiError.ts";
import { deleteSlot } from "../client/saves.ts";
import { ActionButton } from "../components/ActionButton.tsx";
import { Dialog } from "../components/Dialog.tsx";
import { useLaunchObstacle } from "../launch/useLaunchObstacle.ts";
import type { SlotLaunch } from "./slotActions.ts";
import { lastPlayedText, savesCountText, slotName, type UsedSlot } from "./slotText.ts";
import { useSavesChange } from "./useSaves.ts";

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

import { useEffect, useRef, useState, type SubmitEvent } from "react";
import { sentenceFor } from "../client/apiError.ts";
import { renameSlot } from "../client/saves.ts";
import { ActionButton } from "../components/ActionButton.tsx";
import { labelProblem, type UsedSlot } from "./slotText.ts";
import { useSavesChange } from "./useSaves.ts";

/** Renames a slot in its place. Escape leaves the name as it is. */
export function SlotNameForm({
  slug,
  slot: { id: slotId, slotNumber, label },
  announce,
  onEnd,
}: {
  slug: string;
  slot: UsedSlot;
  announce: (text: string) => void;
  onEnd: () => void;
}) {
  const [name, setName] = useState(label ?? "");
  const input = useRef<HTMLInputElement>(null);
  const rename = useSavesChange(slug, announce);
  useEffect(() => input.current?.select(), []);
  const tooLong = labelProblem(name);
  const problem = tooLong ?? (rename.isError ? sentenceFor(rename.error) : undefined);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    if (tooLong !== undefined) return;
    rename.mutate(
      { work: () => renameSlot({ slug, slotId }, name), done: `Slot ${slotNumber} has its new name.` },
      { onSuccess: onEnd },
    );
  };
  return (
    <form
      className="slot-name"
      onSubmit={submit}
      onKeyDown={({ key, nativeEvent }) => {
        if (key === "Escape" && !isOfInputMethod(nativeEvent)) onEnd();
      }}
    >
      <input
        ref={input}
        aria-label={`Name of slot ${slotNumber}`}
        aria-invalid={problem !== undefined}
        value={name}
        placeholder={`Playthrough ${slotNumber}`}
        autoComplete="off"
        onChange={({ target }) => setName(target.value)}
      />
      <div className="slot-name-actions">
        <ActionButton type="submit" className="button button-small button-primary" isBusy={rename.isPending}>
          {rename.isPending ? "Saving…" : "Save name"}
        </ActionButton>
        <button type="button" className="button button-small button-quiet" onClick={onEnd}>
          Cancel
        </button>
      </div>
      {problem !== undefined && (
        <p className="message message-problem" role="alert">
          {problem}
        </p>
      )}
    </form>
  );
}

/**
 * Returns whether a key is for an input method, such as Escape that cancels its candidates; of the last one
 * Safari says so by the code alone.
 */
function isOfInputMethod(event: KeyboardEvent): boolean {
  return event.isComposing || event.keyCode === 229; // oxlint-disable-line typescript/no-deprecated -- Nothing else says it.
}

import { useCallback, useEffect, useRef, useState } from "react";
import type { SavesResponse } from "#contracts/http/saves.ts";
import { sentenceFor } from "../client/apiError.ts";
import { LoadFailure, Spinner } from "../components/Notice.tsx";
import { useNow } from "../components/useNow.ts";
import { EmptySlot } from "./EmptySlot.tsx";
import { ReplaceDialog } from "./ReplaceDialog.tsx";
import type { SlotActions } from "./slotActions.ts";
import { SlotCard } from "./SlotCard.tsx";
import { isUsed } from "./slotText.ts";
import { useSaves } from "./useSaves.ts";

/** A game's save slots with their histories, and everything that the player can do with them. */
export function SaveSlots(actions: SlotActions) {
  const saves = useSaves(actions.slug);
  const retry = (): void => void saves.refetch();
  if (saves.data !== undefined) {
    return (
      <>
        {saves.isError && (
          <p className="message message-problem" role="alert">
            {sentenceFor(saves.error)} <button type="button" className="text-button" onClick={retry}>Try again</button>
          </p>
        )}
        <Slots saves={saves.data} actions={actions} />
      </>
    );
  }
  if (saves.isError) return <LoadFailure what="Your saves" error={saves.error} onRetry={retry} />;
  return <Spinner label="Loading your saves…" />;
}

function Slots({ saves: { slots, saveBytesMax }, actions }: { saves: SavesResponse; actions: SlotActions }) {
  const now = useNow(60_000);
  const [result, announce] = useResult();
  const [isReplacing, setIsReplacing] = useState(false);
  const firstEmpty = slots.find((slot) => !isUsed(slot))?.slotNumber;
  return (
    <>
      <ol className="slots" aria-label="Save slots">
        {slots.map((slot) => (
          isUsed(slot) ? (
            <SlotCard
              key={slot.slotNumber} slot={slot} now={now} saveBytesMax={saveBytesMax} hasEmptySlot={firstEmpty !== undefined} actions={actions} announce={announce}
            />
          ) : (
            <EmptySlot
              key={slot.slotNumber} slotNumber={slot.slotNumber} isFirst={slot.slotNumber === firstEmpty} saveBytesMax={saveBytesMax} actions={actions}
              announce={announce}
            />
          )
        ))}
      </ol>
      {firstEmpty === undefined && (
        <div className="slots-full">
          <p className="muted">All slots of this game are in use. To begin a new game, replace one of them.</p>
          <button type="button" className="button" disabled={actions.isBusy} onClick={() => setIsReplacing(true)}>Replace a slot…</button>
        </div>
      )}
      {result}
      {isReplacing && <ReplaceDialog slots={slots.filter(isUsed)} now={now} actions={actions} announce={announce} onDismiss={() => setIsReplacing(false)} />}
    </>
  );
}

/** Returns a live region and the function that says something in it. It takes the focus when that was on an element that goes with what is said. */
function useResult() {
  const [text, setText] = useState("");
  const region = useRef<HTMLParagraphElement>(null);
  const isFocusDue = useRef(false);
  const announce = useCallback((next: string) => {
    isFocusDue.current = true;
    setText(next);
  }, []);
  // More than once: a dialog that closes gives the focus back to a button that goes once the slots have been read again.
  useEffect(() => {
    if (isFocusDue.current && document.activeElement === document.body) region.current?.focus();
  });
  // Where it is after the player's next action is their own doing.
  useEffect(() => {
    const forget = (): void => void (isFocusDue.current = false);
    for (const action of ["pointerdown", "keydown"]) document.addEventListener(action, forget, true);
    return () => {
      for (const action of ["pointerdown", "keydown"]) document.removeEventListener(action, forget, true);
    };
  }, []);
  return [
    <p key="result" ref={region} className={text === "" ? "visually-hidden" : "message"} role="status" tabIndex={-1}>{text}</p>,
    announce,
  ] as const;
}

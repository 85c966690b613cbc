import { useState } from "react";
import type { SavesResponse } from "#contracts/http/saves.ts";
import { LoadFailure, RefreshFailure, Spinner } from "../components/Notice.tsx";
import { useAnnouncement } from "../components/useAnnouncement.tsx";
import { useNow } from "../components/useNow.ts";
import { EmptySlot } from "./EmptySlot.tsx";
import { ReplaceDialog } from "./ReplaceDialog.tsx";
import type { SlotActions } from "./slotActions.ts";
import { SlotCard } from "./SlotCard.tsx";
import { isUsed } from "./slotText.ts";
import { UploadSave } from "./UploadSave.tsx";
import { useSaves } from "./useSaves.ts";
import { useSaveUpload } from "./useSaveUpload.ts";

/** A game's save slots with their histories, and everything that the player can do with them. */
export function SaveSlots(actions: SlotActions) {
  const saves = useSaves(actions.slug);
  const retry = (): void => void saves.refetch();
  if (saves.data !== undefined) {
    return (
      <>
        {saves.isError && <RefreshFailure error={saves.error} onRetry={retry} />}
        <Slots saves={saves.data} actions={actions} />
      </>
    );
  }
  if (saves.isError) return <LoadFailure what="Your saves" error={saves.error} onRetry={retry} />;
  return <Spinner label="Loading your saves…" />;
}

function Slots({
  saves: { slots, saveBytesMax },
  actions,
  actions: { slug, launch },
}: {
  saves: SavesResponse;
  actions: SlotActions;
}) {
  const now = useNow(60_000);
  const [announcement, announce] = useAnnouncement();
  const [isReplacing, setIsReplacing] = useState(false);
  // Of no slot: which empty one is the first changes with the others, and all of them may be used before it
  // has come.
  const upload = useSaveUpload({ slug, slotId: undefined, saveBytesMax, announce });
  const firstEmpty = slots.find((slot) => !isUsed(slot))?.slotNumber;
  return (
    <>
      <ol className="slots" aria-label="Save slots">
        {slots.map((slot) =>
          isUsed(slot) ? (
            <SlotCard
              key={slot.slotNumber}
              slot={slot}
              now={now}
              saveBytesMax={saveBytesMax}
              hasEmptySlot={firstEmpty !== undefined}
              actions={actions}
              announce={announce}
            />
          ) : (
            <EmptySlot
              key={slot.slotNumber}
              slotNumber={slot.slotNumber}
              isFirst={slot.slotNumber === firstEmpty}
              launch={launch}
              upload={upload}
            />
          ),
        )}
      </ol>
      {firstEmpty === undefined && launch !== undefined && (
        <div className="slots-full">
          {(upload.percent ?? upload.problem) !== undefined && (
            <UploadSave slotNumber={undefined} upload={upload} />
          )}
          <p className="muted">
            All slots of this game are in use. To begin a new game, replace one of them.
          </p>
          <button
            type="button"
            className="button"
            disabled={launch.isBusy}
            onClick={() => setIsReplacing(true)}
          >
            Replace a slot…
          </button>
        </div>
      )}
      {announcement}
      {isReplacing && launch !== undefined && (
        <ReplaceDialog
          slug={slug}
          slots={slots.filter(isUsed)}
          now={now}
          onFresh={launch.onFresh}
          announce={announce}
          onDismiss={() => setIsReplacing(false)}
        />
      )}
    </>
  );
}

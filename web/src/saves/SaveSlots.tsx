import { useState } from "react";
import type { SavesResponse } from "#contracts/http/saves.ts";
import { LoadFailure, RefreshFailure, Spinner } from "../components/Notice.tsx";
import { useAnnouncement } from "../components/useAnnouncement.tsx";
import { useNow } from "../components/useNow.ts";
import { ReplaceDialog } from "./SlotDialogs.tsx";
import { SlotCard } from "./SlotCard.tsx";
import { type SlotActions, type SlotLaunch, isUsed } from "./slotText.ts";
import { UploadSave, useSaveUpload, type SaveUpload } from "./UploadSave.tsx";
import { useSaves } from "./useSaves.ts";
import { ActionButton } from "../components/ActionButton.tsx";
import { Icon } from "../components/Icon.tsx";

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

/**
 * A slot without anything. A new game, and an upload, take the first empty one, so only that one has the
 * buttons for it, if the game is offered.
 */
function EmptySlot({
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

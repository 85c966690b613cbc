import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { SavesResponse } from "#contracts/http/saves.ts";
import { ActionButton } from "../components/ActionButton.tsx";
import { Icon } from "../components/Icon.tsx";
import { LoadFailure, RefreshFailure, Spinner } from "../components/Notice.tsx";
import { useAnnouncement } from "../components/useAnnouncement.tsx";
import { useNow } from "../components/useNow.ts";
import { SlotCard } from "./SlotCard.tsx";
import { ReplaceDialog } from "./SlotDialogs.tsx";
import { type SlotActions, type SlotLaunch, isUsed } from "./slotText.ts";
import { UploadSave, useSaveUpload, type SaveUpload } from "./UploadSave.tsx";
import { useSaves } from "./useSaves.ts";

/** The save slots of a game with their histories and actions. */
export function SaveSlots(actions: SlotActions) {
  const { t } = useTranslation("saves");
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
  if (saves.isError) return <LoadFailure title={t("loadFailed")} error={saves.error} onRetry={retry} />;
  return <Spinner label={t("loading")} />;
}

function Slots({
  saves: { slots, saveBytesMax },
  actions,
  actions: { slug, launch },
}: {
  saves: SavesResponse;
  actions: SlotActions;
}) {
  const { t } = useTranslation("saves");
  const now = useNow(60_000);
  const [announcement, announce] = useAnnouncement();
  const [isReplacing, setIsReplacing] = useState(false);
  // The upload belongs to no slot: the first empty slot may be another one, or none, when the upload arrives.
  const upload = useSaveUpload({ slug, slotId: undefined, saveBytesMax, announce });
  const firstEmpty = slots.find((slot) => !isUsed(slot))?.slotNumber;
  return (
    <>
      <ol className="slots" aria-label={t("slots")}>
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
          <p className="muted">{t("full.text")}</p>
          <button
            type="button"
            className="button"
            disabled={launch.isBusy}
            onClick={() => setIsReplacing(true)}
          >
            {t("full.replace")}
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

/** An empty slot. New games and uploads use the first empty slot, so only that one has buttons for them. */
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
  const { t } = useTranslation(["saves", "common"]);
  const isUsable = isFirst && launch !== undefined;
  const isLaunching = launch?.isBusy === true && launch.choice?.fresh === true;
  const label = isLaunching ? t("common:launching") : t("empty.newGame");
  return (
    <li className="slot slot-empty">
      <div className="slot-head">
        <span className="slot-number" aria-hidden="true">
          {slotNumber}
        </span>
        <div className="slot-text">
          <strong>{t("empty.title")}</strong>
          <span>{t("nothingSaved")}</span>
        </div>
        {isUsable && (
          <ActionButton
            className="button"
            isBusy={launch.isBusy}
            aria-label={t("empty.inSlot", { action: label, number: slotNumber })}
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

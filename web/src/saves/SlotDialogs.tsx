import { useId, useState } from "react";
import { Trans, useTranslation } from "react-i18next";
import type { SaveVersion } from "#contracts/http/saves.ts";
import { isApiError, describeError } from "../client/apiError.ts";
import { restoreSave, deleteSlot } from "../client/saves.ts";
import { ActionButton } from "../components/ActionButton.tsx";
import { Dialog } from "../components/Dialog.tsx";
import { formatMoment } from "../components/format.ts";
import { t } from "../i18n.ts";
import { useLaunchObstacle } from "../launch/useActiveGameSession.ts";
import {
  findCurrentVersion,
  describeKind,
  describeSlot,
  type UsedSlot,
  describeLastPlayed,
  describeSavesCount,
  type SlotLaunch,
} from "./slotText.ts";
import { useSavesChange } from "./useSaves.ts";

/**
 * Asks whether to restore a version as the slot's save. If it is damaged, offers the previous readable one.
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
  const { t } = useTranslation(["saves", "common"]);
  const { mutate, isPending, error } = useSavesChange(slug, announce);
  const current = findCurrentVersion(slot);
  const readableId = isApiError(error, "unreadable_save") ? error.readableVersionId : undefined;
  const readable = slot.versions.find(({ id, isCurrent }) => id === readableId && !isCurrent);
  const chosen = readable ?? version;
  const isLost = isApiError(error, "unreadable_save") && readable === undefined;
  const restore = (): void =>
    mutate(
      {
        work: () => restoreSave({ slug, slotId: slot.id }, chosen.id),
        done: t("restore.done", { time: formatMoment(chosen.savedAt), slot: describeSlot(slot) }),
      },
      { onSuccess: onDismiss },
    );
  return (
    <Dialog
      title={readable === undefined ? t("restore.title") : t("restore.titlePrevious")}
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
              ? t("restore.restoring")
              : readable === undefined
                ? t("restore.confirm")
                : t("versions.restoreOf", { time: formatMoment(readable.savedAt) })}
          </ActionButton>
          <button type="button" className="button" disabled={isPending} onClick={onDismiss}>
            {t("common:cancel")}
          </button>
        </>
      }
    >
      <p>
        <Trans
          t={t}
          i18nKey="restore.text"
          values={{
            time: formatMoment(chosen.savedAt),
            kind: describeKind(chosen.kind),
            slot: describeSlot(slot),
          }}
          components={{ strong: <strong /> }}
        />{" "}
        {current !== undefined && (
          <Trans
            t={t}
            i18nKey="restore.replaces"
            values={{ time: formatMoment(current.savedAt) }}
            components={{ strong: <strong /> }}
          />
        )}
      </p>
      {error !== null && (
        <p className="message message-problem" role="alert">
          {problemText(error, readable !== undefined)}
        </p>
      )}
    </Dialog>
  );
}

function problemText(error: Error, hasReadable: boolean): string {
  if (!isApiError(error, "unreadable_save")) return describeError(error);
  return hasReadable ? t("saves:restore.damagedWithPrevious") : t("saves:restore.damaged");
}

/**
 * Asks which slot a new game replaces, or which one to delete. Slots in use cannot be chosen. The slot is
 * deleted before the launch, so none is deleted for a new game while the page knows that no game can start.
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
  const { t } = useTranslation(["saves", "common"]);
  const [chosenId, setChosenId] = useState<string>();
  const { mutate, isPending, error } = useSavesChange(slug, announce);
  const obstacle = useLaunchObstacle();
  const chosen = slots.find(({ id, state }) => id === chosenId && state === "free");
  const remove = (onDone: () => void): void => {
    if (chosen === undefined) return;
    mutate(
      {
        work: () => deleteSlot({ slug, slotId: chosen.id }),
        done: t("delete.done", { number: chosen.slotNumber }),
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
      title={t("replace.title")}
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
            {isPending ? t("delete.deleting") : t("replace.confirm")}
          </ActionButton>
          <ActionButton
            className="button"
            isBusy={isPending}
            disabled={chosen === undefined}
            onClick={() => remove(onDismiss)}
          >
            {t("replace.deleteOnly")}
          </ActionButton>
          <button type="button" className="button button-quiet" disabled={isPending} onClick={onDismiss}>
            {t("common:cancel")}
          </button>
        </>
      }
    >
      <fieldset className="choices">
        <legend className="visually-hidden">{t("replace.legend")}</legend>
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
            <LossWarning slot={chosen} />
          </p>
        )}
        <p>{obstacle ?? t("replace.warning")}</p>
      </div>
      {error !== null && (
        <p className="message message-problem" role="alert">
          {describeError(error)}
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
  const { t } = useTranslation("saves");
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
        <strong>{t("replace.choice", { number: slot.slotNumber, name: slot.label })}</strong>
        <span>
          {slot.state === "playing"
            ? t("replace.playing")
            : slot.state === "storing"
              ? t("replace.storing")
              : describeLastPlayed(slot, now)}
        </span>
      </label>
    </div>
  );
}

/** Asks whether to delete a slot. */
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
  const { t } = useTranslation(["saves", "common"]);
  const { mutate, isPending, error } = useSavesChange(slug, announce);
  const remove = (): void =>
    mutate(
      {
        work: () => deleteSlot({ slug, slotId: slot.id }),
        done: t("delete.done", { number: slot.slotNumber }),
      },
      { onSuccess: onDismiss },
    );
  return (
    <Dialog
      title={t("delete.title", { number: slot.slotNumber })}
      isBusy={isPending}
      onDismiss={onDismiss}
      actions={
        <>
          <ActionButton className="button button-danger" isBusy={isPending} onClick={remove}>
            {isPending ? t("delete.deleting") : t("delete.confirm")}
          </ActionButton>
          <button type="button" className="button" disabled={isPending} onClick={onDismiss}>
            {t("delete.keep")}
          </button>
        </>
      }
    >
      <p>
        <LossWarning slot={slot} />
      </p>
      {error !== null && (
        <p className="message message-problem" role="alert">
          {describeError(error)}
        </p>
      )}
    </Dialog>
  );
}

function LossWarning({ slot }: { slot: UsedSlot }) {
  const { t } = useTranslation("saves");
  return (
    <Trans
      t={t}
      i18nKey="delete.loss"
      values={{ slot: describeSlot(slot), saves: describeSavesCount(slot) }}
      components={{ strong: <strong /> }}
    />
  );
}

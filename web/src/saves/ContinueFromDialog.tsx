import { Trans, useTranslation } from "react-i18next";
import type { SaveSlotHistory, SaveVersion } from "#contracts/http/saves.ts";
import { describeError } from "../client/apiError.ts";
import { copySaveVersion } from "../client/saves.ts";
import { ActionButton } from "../components/ActionButton.tsx";
import { Dialog } from "../components/Dialog.tsx";
import { formatMoment } from "../components/format.ts";
import { useLaunchObstacle } from "../launch/useActiveGameSession.ts";
import { describeSlot, type UsedSlot } from "./slotText.ts";
import { useSavesChange } from "./useSaves.ts";

interface ContinueFromDialogProps {
  slug: string;
  slot: UsedSlot;
  version: SaveVersion;
  announce: (text: string) => void;
  onContinue: (saveSlotId: string) => void;
  onDismiss: () => void;
}

/** Asks whether to copy an earlier version to an empty slot and play it there. */
export function ContinueFromDialog({
  slug,
  slot,
  version,
  announce,
  onContinue,
  onDismiss,
}: ContinueFromDialogProps) {
  const { t } = useTranslation(["saves", "common"]);
  const obstacle = useLaunchObstacle();
  const { mutate, isPending, error } = useSavesChange<SaveSlotHistory>(slug, announce);
  const time = formatMoment(version.savedAt);
  const copyAndPlay = (): void =>
    mutate(
      {
        work: () => copySaveVersion({ slug, slotId: slot.id }, version.id),
        done: t("continueFrom.done", { time }),
      },
      {
        onSuccess: ({ id }) => {
          onDismiss();
          if (id !== null) onContinue(id);
        },
      },
    );
  return (
    <Dialog
      title={t("continueFrom.title")}
      isBusy={isPending}
      onDismiss={onDismiss}
      actions={
        <>
          <ActionButton
            className="button button-primary"
            isBusy={isPending}
            disabled={obstacle !== undefined}
            onClick={copyAndPlay}
          >
            {isPending ? t("continueFrom.copying") : t("continueFrom.confirm")}
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
          i18nKey="continueFrom.text"
          values={{ time, slot: describeSlot(slot) }}
          components={{ strong: <strong /> }}
        />
      </p>
      {obstacle !== undefined && <p role="status">{obstacle}</p>}
      {error !== null && (
        <p className="message message-problem" role="alert">
          {describeError(error)}
        </p>
      )}
    </Dialog>
  );
}

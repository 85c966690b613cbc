import { useRef, useState } from "react";
import { Trans, useTranslation } from "react-i18next";
import { useMutation } from "@tanstack/react-query";
import type { SaveVersion } from "#contracts/http/saves.ts";
import { limits } from "#contracts/limits.ts";
import { describeError } from "../client/apiError.ts";
import { createSaveLink } from "../client/saveLinks.ts";
import type { SlotAddress } from "../client/saves.ts";
import { ActionButton } from "../components/ActionButton.tsx";
import { Dialog } from "../components/Dialog.tsx";
import { formatMoment } from "../components/format.ts";

const lifetimeHours = limits.save.link.lifetimeSeconds / 3_600;

interface ShareDialogProps {
  slot: SlotAddress;
  version: SaveVersion;
  onDismiss: () => void;
}

/** Creates a link that gives another player a copy of a version, and shows it to be passed on. */
export function ShareDialog({ slot, version, onDismiss }: ShareDialogProps) {
  const { t } = useTranslation(["saveLinks", "common"]);
  const { mutate, data, error, isPending } = useMutation({
    mutationFn: () => createSaveLink(slot, version.id),
  });
  return (
    <Dialog
      title={t("share.title")}
      isBusy={isPending}
      onDismiss={onDismiss}
      actions={
        data === undefined ? (
          <>
            <ActionButton className="button button-primary" isBusy={isPending} onClick={() => mutate()}>
              {isPending ? t("share.creating") : t("share.create")}
            </ActionButton>
            <button type="button" className="button" disabled={isPending} onClick={onDismiss}>
              {t("common:cancel")}
            </button>
          </>
        ) : (
          <button type="button" className="button" onClick={onDismiss}>
            {t("share.done")}
          </button>
        )
      }
    >
      {data === undefined ? (
        <p>
          <Trans
            t={t}
            i18nKey="share.text"
            values={{ time: formatMoment(version.savedAt), hours: lifetimeHours }}
            components={{ strong: <strong /> }}
          />
        </p>
      ) : (
        <>
          <LinkField url={data.url} />
          <p className="muted">{t("share.expires", { time: formatMoment(data.expiresAt) })}</p>
        </>
      )}
      {error !== null && (
        <p className="message message-problem" role="alert">
          {describeError(error)}
        </p>
      )}
    </Dialog>
  );
}

/** The link, selected, with a button that copies it; browsers allow that on secure pages only. */
function LinkField({ url }: { url: string }) {
  const { t } = useTranslation("saveLinks");
  const field = useRef<HTMLInputElement>(null);
  const [isCopied, setIsCopied] = useState(false);
  const copy = async (): Promise<void> => {
    field.current?.select();
    try {
      await navigator.clipboard.writeText(url);
      setIsCopied(true);
    } catch {
      setIsCopied(false); // The link is selected, so that the player can copy it.
    }
  };
  return (
    <div className="share-link">
      <input
        ref={field}
        readOnly
        aria-label={t("share.label")}
        value={url}
        onFocus={({ target }) => target.select()}
      />
      <button type="button" className="button button-primary" onClick={() => void copy()}>
        {isCopied ? t("share.copied") : t("share.copy")}
      </button>
    </div>
  );
}

import { useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { useQueryClient } from "@tanstack/react-query";
import type { SaveSlotHistory } from "#contracts/http/saves.ts";
import { uploadSave } from "../client/saves.ts";
import { t } from "../i18n.ts";
import { refreshSlots } from "../launch/useLaunch.ts";
import { isTooLarge, describeTooLarge, describeUploadError } from "./slotText.ts";
import { useSavesChange } from "./useSaves.ts";

/**
 * Pause after a cancelled upload before the saves are read again: it may have been stored at the same moment.
 */
const rereadMs = 3_000;

/** The state of an upload, and the player's actions on it. */
export interface SaveUpload {
  /** Share of the file that was sent; undefined while nothing is being uploaded. */
  percent: number | undefined;
  /** Why the last upload failed. */
  problem: string | undefined;
  begin: (file: File) => void;
  cancel: () => void;
}

/**
 * Chooses an archive for a slot and shows the progress of its upload. Without a slot it shows only the
 * progress.
 */
export function UploadSave({
  slotNumber,
  upload: { percent, problem, begin, cancel },
}: {
  slotNumber: number | undefined;
  upload: SaveUpload;
}) {
  const { t } = useTranslation(["saves", "common"]);
  return (
    <div className="upload">
      {percent !== undefined && (
        <>
          <label className="upload-progress">
            {percent < 100 ? t("upload.progress", { percent }) : t("upload.checking")}
            <progress max={100} value={percent} />
          </label>
          <button type="button" className="button button-small button-quiet" onClick={cancel}>
            {t("common:cancel")}
          </button>
        </>
      )}
      {percent === undefined && slotNumber !== undefined && (
        <label className="button button-small">
          {t("upload.button")}
          <input
            className="visually-hidden"
            type="file"
            accept=".gz,.tgz,application/gzip"
            aria-label={t("upload.intoSlot", { number: slotNumber })}
            onChange={({ target }) => {
              const file = target.files?.[0];
              // So that the same file can be chosen again.
              target.value = "";
              if (file !== undefined) begin(file);
            }}
          />
        </label>
      )}
      {problem !== undefined && (
        <p className="message message-problem" role="alert">
          {problem}
        </p>
      )}
    </div>
  );
}

/**
 * Uploads archives into a slot; without an id, into the slot that is the first empty one when they arrive.
 */
export function useSaveUpload({
  slug,
  slotId,
  saveBytesMax,
  announce,
}: {
  slug: string;
  slotId: string | undefined;
  saveBytesMax: number;
  announce: (text: string) => void;
}): SaveUpload {
  const client = useQueryClient();
  const [percent, setPercent] = useState(0);
  const [problem, setProblem] = useState<string>();
  const controller = useRef<AbortController>(null);
  const { mutate, isPending } = useSavesChange<SaveSlotHistory>(slug, announce);
  // An upload that the page no longer shows must not change the slot.
  useEffect(() => () => controller.current?.abort(), []);
  const begin = (file: File): void => {
    if (isTooLarge(file.size, saveBytesMax)) {
      announce("");
      setProblem(describeTooLarge(saveBytesMax));
      return;
    }
    const { signal } = (controller.current = new AbortController());
    setProblem(undefined);
    setPercent(0);
    const onProgress = (share: number): void => setPercent(Math.floor(share * 100));
    mutate(
      {
        work: () => uploadSave({ slug, slotId }, file, { onProgress, signal }),
        done: ({ slotNumber }) => t("saves:upload.done", { number: slotNumber }),
      },
      {
        onError: (error) => {
          if (signal.aborted) setTimeout(() => void refreshSlots(client, slug), rereadMs);
          else setProblem(describeUploadError(error, saveBytesMax));
        },
      },
    );
  };
  return {
    percent: isPending ? percent : undefined,
    problem,
    begin,
    cancel: () => controller.current?.abort(),
  };
}

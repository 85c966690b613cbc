import { useEffect, useRef, useState } from "react";
import { useQueryClient } from "@tanstack/react-query";
import type { SaveSlotHistory } from "#contracts/http/saves.ts";
import { uploadSave } from "../client/saves.ts";
import { refreshSlots } from "../launch/useLaunch.ts";
import { isTooLarge, tooLargeText, uploadProblem } from "./slotText.ts";
import { useSavesChange } from "./useSaves.ts";

/**
 * How long after an upload was cancelled the saves are read once more: it may have become the slot's save in
 * the same moment.
 */
const rereadMs = 3_000;

/** An upload of a save: what the page shows of it, and what the player can do. */
export interface SaveUpload {
  /** How much of the file was sent; undefined while nothing is uploaded. */
  percent: number | undefined;
  /** Why the last one failed. */
  problem: string | undefined;
  begin: (file: File) => void;
  cancel: () => void;
}

/**
 * Chooses an archive for a slot, then shows how its upload goes. Without a slot there is none to choose for,
 * and only an upload that was begun is shown.
 */
export function UploadSave({
  slotNumber,
  upload: { percent, problem, begin, cancel },
}: {
  slotNumber: number | undefined;
  upload: SaveUpload;
}) {
  return (
    <div className="upload">
      {percent !== undefined && (
        <>
          <label className="upload-progress">
            {percent < 100 ? `Uploading… ${percent} %` : "Checking the save…"}
            <progress max={100} value={percent} />
          </label>
          <button type="button" className="button button-small button-quiet" onClick={cancel}>
            Cancel
          </button>
        </>
      )}
      {percent === undefined && slotNumber !== undefined && (
        <label className="button button-small">
          Upload a save
          <input
            className="visually-hidden"
            type="file"
            accept=".gz,.tgz,application/gzip"
            aria-label={`Upload a save into slot ${slotNumber}`}
            onChange={({ target }) => {
              const file = target.files?.[0];
              // The same file can be chosen again.
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
 * Uploads archives into a slot; without an id each one into the empty slot that is the first when it has
 * come.
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
  // An upload that nobody sees any more must not change the slot.
  useEffect(() => () => controller.current?.abort(), []);
  const begin = (file: File): void => {
    if (isTooLarge(file.size, saveBytesMax)) {
      announce("");
      setProblem(tooLargeText(saveBytesMax));
      return;
    }
    const { signal } = (controller.current = new AbortController());
    setProblem(undefined);
    setPercent(0);
    const onProgress = (share: number): void => setPercent(Math.floor(share * 100));
    mutate(
      {
        work: () => uploadSave({ slug, slotId }, file, { onProgress, signal }),
        done: ({ slotNumber }) => `The upload is now the save of slot ${slotNumber}.`,
      },
      {
        onError: (error) => {
          if (signal.aborted) setTimeout(() => void refreshSlots(client, slug), rereadMs);
          else setProblem(uploadProblem(error, saveBytesMax));
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

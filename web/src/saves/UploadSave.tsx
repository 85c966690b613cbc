import { useEffect, useRef, useState } from "react";
import { uploadSave } from "../client/saves.ts";
import { isTooLarge, tooLargeText, uploadProblem } from "./slotText.ts";
import { useSavesChange } from "./useSaves.ts";

/** Chooses an archive and makes it the save of a slot; of the first empty one without an id. */
export function UploadSave({ slug, slotNumber, slotId, saveBytesMax, announce }: {
  slug: string;
  slotNumber: number;
  slotId: string | undefined;
  saveBytesMax: number;
  announce: (text: string) => void;
}) {
  const [percent, setPercent] = useState(0);
  const [problem, setProblem] = useState<string>();
  const controller = useRef<AbortController>(null);
  const { mutate, isPending } = useSavesChange(slug, announce);
  // An upload that nobody sees any more must not change the slot.
  useEffect(() => () => controller.current?.abort(), []);
  const upload = (file: File): void => {
    if (isTooLarge(file.size, saveBytesMax)) {
      announce("");
      setProblem(tooLargeText(saveBytesMax));
      return;
    }
    const { signal } = controller.current = new AbortController();
    setProblem(undefined);
    setPercent(0);
    const onProgress = (share: number): void => setPercent(Math.floor(share * 100));
    mutate(
      { work: () => uploadSave({ slug, slotId }, file, { onProgress, signal }), done: `The upload is now the save of slot ${slotNumber}.` },
      { onError: (error) => setProblem(signal.aborted ? undefined : uploadProblem(error, saveBytesMax)) },
    );
  };
  return (
    <div className="upload">
      {isPending ? (
        <>
          <label className="upload-progress">
            {percent < 100 ? `Uploading… ${percent} %` : "Checking the save…"}
            <progress max={100} value={percent} />
          </label>
          <button type="button" className="button button-small button-quiet" onClick={() => controller.current?.abort()}>Cancel</button>
        </>
      ) : (
        <label className="button button-small">
          Upload a save
          <input
            className="visually-hidden" type="file" accept=".gz,.tgz,application/gzip" aria-label={`Upload a save into slot ${slotNumber}`}
            onChange={({ target }) => {
              const file = target.files?.[0];
              // The same file can be chosen again.
              target.value = "";
              if (file !== undefined) upload(file);
            }}
          />
        </label>
      )}
      {problem !== undefined && <p className="message message-problem" role="alert">{problem}</p>}
    </div>
  );
}

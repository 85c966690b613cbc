import type { SaveUpload } from "./useSaveUpload.ts";

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

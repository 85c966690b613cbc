import { useState } from "react";
import type { SaveVersion } from "#contracts/http/saves.ts";
import { saveArchivePath } from "../client/saves.ts";
import { sizeText, momentText, timeAgo } from "../components/format.ts";
import { kindText, readableBefore, type UsedSlot } from "./slotText.ts";

/** A longer list is shortened until the player asks for the rest. */
const shownAtFirst = 5;

interface SlotVersionsProps {
  slug: string;
  slot: UsedSlot;
  now: number;
  /** Undefined where nothing can be restored. */
  onRestore: ((version: SaveVersion) => void) | undefined;
}

/** The saves that are kept of a slot, the newest first. */
export function SlotVersions({ slug, slot, now, onRestore }: SlotVersionsProps) {
  const [showsAll, setShowsAll] = useState(false);
  const shown = slot.versions.filter(({ isCurrent }, place) => showsAll || isCurrent || place < shownAtFirst);
  if (slot.versions.length === 0)
    return (
      <p className="muted slot-none">
        Nothing is stored yet. The first save appears here when the game is stopped.
      </p>
    );
  return (
    <>
      <ol className="versions" aria-label={`Saves of slot ${slot.slotNumber}`}>
        {shown.map((version) => (
          <li key={version.id} className={version.isReadable ? "version" : "version version-damaged"}>
            <div className="version-text">
              <strong>
                <time dateTime={version.savedAt}>{momentText(version.savedAt)}</time>
                {version.isCurrent && <span className="version-current">Current</span>}
              </strong>
              <span>
                {kindText(version.kind)} · {timeAgo(version.savedAt, now)} · {sizeText(version.bytes)}
              </span>
              {!version.isReadable && (
                <span className="version-problem">This save is missing or damaged.</span>
              )}
            </div>
            <VersionActions slug={slug} slot={slot} version={version} onRestore={onRestore} />
          </li>
        ))}
      </ol>
      {slot.versions.length > shownAtFirst && (
        <button type="button" className="text-button" onClick={() => setShowsAll(!showsAll)}>
          {showsAll ? "Show only the newest" : `Show all ${slot.versions.length} saves`}
        </button>
      )}
    </>
  );
}

/** Restores and downloads a version; of one that cannot be read, restores the one before it. */
function VersionActions({
  slug,
  slot,
  version,
  onRestore,
}: Omit<SlotVersionsProps, "now"> & { version: SaveVersion }) {
  const restore = slot.state === "free" ? onRestore : undefined;
  if (!version.isReadable) {
    const before = readableBefore(slot.versions, version.id);
    if (before === undefined || restore === undefined) return null;
    return (
      <button type="button" className="text-button" onClick={() => restore(before)}>
        Restore the one before, of {momentText(before.savedAt)}
      </button>
    );
  }
  const time = momentText(version.savedAt);
  return (
    <div className="version-actions">
      {!version.isCurrent && restore !== undefined && (
        <button
          type="button"
          className="text-button"
          aria-label={`Restore the save of ${time}`}
          onClick={() => restore(version)}
        >
          Restore
        </button>
      )}
      <a
        className="text-button"
        href={saveArchivePath({ slug, slotId: slot.id }, version.id)}
        download
        aria-label={`Download the save of ${time}`}
      >
        Download
      </a>
    </div>
  );
}

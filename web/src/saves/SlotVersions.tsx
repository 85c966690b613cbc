import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { SaveVersion } from "#contracts/http/saves.ts";
import { saveArchivePath } from "../client/saves.ts";
import { formatSize, formatMoment, formatTimeAgo } from "../components/format.ts";
import { SavePicture } from "./SavePicture.tsx";
import { describeKind, describePlayTime, findReadableBefore, type UsedSlot } from "./slotText.ts";

/** A longer list is shortened until the player opens the rest. */
const shownAtFirst = 5;

interface SlotVersionsProps {
  slug: string;
  slot: UsedSlot;
  now: number;
  /** Undefined if nothing can be restored. */
  onRestore: ((version: SaveVersion) => void) | undefined;
  /** Undefined if no version can be continued in another slot. */
  onContinueFrom: ((version: SaveVersion) => void) | undefined;
  /** Undefined if no copy can be given. */
  onShare: ((version: SaveVersion) => void) | undefined;
  hasEmptySlot: boolean;
}

/** The saves of a slot, newest first. */
export function SlotVersions({ slug, slot, now, hasEmptySlot, ...actions }: SlotVersionsProps) {
  const { t } = useTranslation("saves");
  const [showsAll, setShowsAll] = useState(false);
  const shown = slot.versions.filter(({ isCurrent }, place) => showsAll || isCurrent || place < shownAtFirst);
  if (slot.versions.length === 0) return <p className="muted slot-none">{t("versions.none")}</p>;
  return (
    <>
      <ol className="versions" aria-label={t("versions.list", { number: slot.slotNumber })}>
        {shown.map((version) => (
          <li key={version.id} className={version.isReadable ? "version" : "version version-damaged"}>
            <SavePicture slot={{ slug, slotId: slot.id }} version={version} />
            <div className="version-text">
              <strong>
                <time dateTime={version.savedAt}>{formatMoment(version.savedAt)}</time>
                {version.isCurrent && <span className="version-current">{t("versions.current")}</span>}
              </strong>
              <span>
                {[
                  describeKind(version.kind),
                  formatTimeAgo(version.savedAt, now),
                  describePlayTime(version),
                  formatSize(version.bytes),
                ]
                  .filter((part) => part !== undefined)
                  .join(" · ")}
              </span>
              {!version.isReadable && <span className="version-problem">{t("versions.damaged")}</span>}
              {version.isReadable && version.mayBeIncomplete === true && (
                <span className="version-problem">{t("versions.incomplete")}</span>
              )}
            </div>
            <VersionActions
              slug={slug}
              slot={slot}
              version={version}
              {...actions}
              {...(!hasEmptySlot && { onContinueFrom: undefined })}
            />
          </li>
        ))}
      </ol>
      {!hasEmptySlot && actions.onContinueFrom !== undefined && slot.versions.length > 1 && (
        <p className="muted slot-none">{t("versions.noEmptySlot")}</p>
      )}
      {slot.versions.length > shownAtFirst && (
        <button type="button" className="text-button" onClick={() => setShowsAll(!showsAll)}>
          {showsAll ? t("versions.showNewest") : t("versions.showAll", { total: slot.versions.length })}
        </button>
      )}
    </>
  );
}

/** Restores or downloads a version; instead of a damaged version, restores the previous readable one. */
function VersionActions({
  slug,
  slot,
  version,
  onRestore,
  onContinueFrom,
  onShare,
}: Omit<SlotVersionsProps, "now" | "hasEmptySlot"> & { version: SaveVersion }) {
  const { t } = useTranslation(["saves", "saveLinks"]);
  const restore = slot.state === "free" ? onRestore : undefined;
  if (!version.isReadable) {
    const before = findReadableBefore(slot.versions, version.id);
    if (before === undefined || restore === undefined) return null;
    return (
      <button type="button" className="text-button" onClick={() => restore(before)}>
        {t("versions.restorePrevious", { time: formatMoment(before.savedAt) })}
      </button>
    );
  }
  const time = formatMoment(version.savedAt);
  return (
    <div className="version-actions">
      {!version.isCurrent && restore !== undefined && (
        <button
          type="button"
          className="text-button"
          aria-label={t("versions.restoreOf", { time })}
          onClick={() => restore(version)}
        >
          {t("versions.restore")}
        </button>
      )}
      {!version.isCurrent && slot.state === "free" && onContinueFrom !== undefined && (
        <button
          type="button"
          className="text-button"
          aria-label={t("versions.continueFrom", { time })}
          onClick={() => onContinueFrom(version)}
        >
          {t("versions.continue")}
        </button>
      )}
      {slot.state === "free" && onShare !== undefined && (
        <button
          type="button"
          className="text-button"
          aria-label={t("saveLinks:share.buttonOf", { time })}
          onClick={() => onShare(version)}
        >
          {t("saveLinks:share.button")}
        </button>
      )}
      <a
        className="text-button"
        href={saveArchivePath({ slug, slotId: slot.id }, version.id)}
        download
        aria-label={t("versions.downloadOf", { time })}
      >
        {t("versions.download")}
      </a>
    </div>
  );
}

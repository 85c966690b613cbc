import { useRef, useState } from "react";
import { Link } from "react-router";
import type { SaveVersion } from "#contracts/http/saves.ts";
import { ActionButton } from "../components/ActionButton.tsx";
import { Icon } from "../components/Icon.tsx";
import { momentText } from "../components/timeText.ts";
import { playPath } from "../launch/playPath.ts";
import { useActiveGameSession } from "../launch/useActiveGameSession.ts";
import { RestoreDialog } from "./RestoreDialog.tsx";
import type { SlotActions } from "./slotActions.ts";
import { SlotNameForm } from "./SlotNameForm.tsx";
import { currentVersion, hasLateCopy, lastPlayedText, readableBefore, type UsedSlot } from "./slotText.ts";
import { SlotTools } from "./SlotTools.tsx";
import { SlotVersions } from "./SlotVersions.tsx";

interface SlotCardProps {
  slot: UsedSlot;
  now: number;
  saveBytesMax: number;
  hasEmptySlot: boolean;
  actions: SlotActions;
  announce: (text: string) => void;
}

/** A slot that is in use: what it is doing, its saves, and what can be done with them. */
export function SlotCard({ slot, now, saveBytesMax, hasEmptySlot, actions, announce }: SlotCardProps) {
  const [isRenaming, setIsRenaming] = useState(false);
  const [restoring, setRestoring] = useState<SaveVersion>();
  const onRestore = actions.launch === undefined ? undefined : setRestoring;
  const renameButton = useRef<HTMLButtonElement>(null);
  const endRenaming = (): void => {
    setIsRenaming(false);
    renameButton.current?.focus();
  };
  return (
    <li className="slot">
      <div className="slot-head">
        <span className="slot-number" aria-hidden="true">
          {slot.slotNumber}
        </span>
        {isRenaming ? (
          <SlotNameForm slug={actions.slug} slot={slot} announce={announce} onEnd={endRenaming} />
        ) : (
          <>
            <div className="slot-text">
              <strong>{slot.label ?? `Slot ${slot.slotNumber}`}</strong>
              <span>{lastPlayedText(slot, now)}</span>
            </div>
            <MainButton slot={slot} actions={actions} />
          </>
        )}
      </div>
      <SlotNotes slot={slot} onRestore={onRestore} />
      <details className="slot-saves">
        <summary>
          Saves<span className="slot-count">{slot.versions.length}</span>
          <span className="visually-hidden"> of slot {slot.slotNumber}</span>
        </summary>
        <SlotVersions slug={actions.slug} slot={slot} now={now} onRestore={onRestore} />
        <SlotTools
          slug={actions.slug}
          slot={slot}
          isOffered={actions.launch !== undefined}
          saveBytesMax={saveBytesMax}
          hasEmptySlot={hasEmptySlot}
          renameButton={renameButton}
          onRename={() => setIsRenaming(true)}
          announce={announce}
        />
      </details>
      {restoring !== undefined && (
        <RestoreDialog
          slug={actions.slug}
          slot={slot}
          version={restoring}
          announce={announce}
          onDismiss={() => setRestoring(undefined)}
        />
      )}
    </li>
  );
}

/**
 * Continues the slot, or leads to the session that plays it. One whose last save is on its way cannot be
 * played.
 */
function MainButton({
  slot: { id, slotNumber, state },
  actions: { slug, launch },
}: Pick<SlotCardProps, "slot" | "actions">) {
  const active = useActiveGameSession();
  if (state === "storing") return null;
  if (state === "playing") {
    if (active?.gameSlug !== slug) return null;
    return (
      <Link className="button" to={playPath(active)} aria-label={`Resume slot ${slotNumber}`}>
        <Icon name="play" />
        Resume
      </Link>
    );
  }
  if (launch === undefined) return null;
  const label = launch.isBusy && launch.choice?.saveSlotId === id ? "Launching…" : "Continue";
  return (
    <ActionButton
      className="button"
      isBusy={launch.isBusy}
      aria-label={`${label} slot ${slotNumber}`}
      onClick={() => launch.onContinue(id)}
    >
      <Icon name="play" />
      {label}
    </ActionButton>
  );
}

/** What the slot waits for, and what the player should know of its saves without opening the list. */
function SlotNotes({
  slot,
  onRestore,
}: {
  slot: UsedSlot;
  onRestore: ((version: SaveVersion) => void) | undefined;
}) {
  const current = currentVersion(slot);
  const isDamaged = current?.isReadable === false;
  const before = isDamaged ? readableBefore(slot.versions, current.id) : undefined;
  return (
    <div className="slot-notes" role="status">
      {slot.state === "playing" && (
        <p className="message">
          This slot is being played. Its saves can be changed when the game is stopped.
        </p>
      )}
      {slot.state === "storing" && (
        <p className="message">
          The last save of this slot is still on its way from the game server. The slot opens by itself; you
          can play the others meanwhile.
        </p>
      )}
      {isDamaged && (
        <p className="message message-problem">
          The current save of this slot cannot be read.{" "}
          {before === undefined ? (
            "There is no earlier one that can."
          ) : slot.state !== "free" || onRestore === undefined ? (
            "There is an earlier one."
          ) : (
            <button type="button" className="text-button" onClick={() => onRestore(before)}>
              Restore the one before, of {momentText(before.savedAt)}
            </button>
          )}
        </p>
      )}
      {hasLateCopy(slot) && (
        <p className="message">
          A save from another device or server came late. It is kept among the saves of this slot.
        </p>
      )}
    </div>
  );
}

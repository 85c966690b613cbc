import { useRef, useState, type RefObject, useEffect, type SubmitEvent } from "react";
import { Link } from "react-router";
import type { SaveVersion } from "#contracts/http/saves.ts";
import { ActionButton } from "../components/ActionButton.tsx";
import { Icon } from "../components/Icon.tsx";
import { momentText } from "../components/format.ts";
import { playPath } from "../launch/playPath.ts";
import { useActiveGameSession } from "../launch/useActiveGameSession.ts";
import { RestoreDialog, DeleteDialog } from "./SlotDialogs.tsx";
import {
  type SlotActions,
  currentVersion,
  hasLateCopy,
  lastPlayedText,
  readableBefore,
  type UsedSlot,
  slotName,
  labelProblem,
} from "./slotText.ts";
import { SlotVersions } from "./SlotVersions.tsx";
import { sentenceFor } from "../client/apiError.ts";
import { copySlot, renameSlot } from "../client/saves.ts";
import { UploadSave, useSaveUpload } from "./UploadSave.tsx";
import { useSavesChange } from "./useSaves.ts";

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

/**
 * What can be done with a slot as a whole. One in use can only be renamed, one of a game that is not offered
 * any more only renamed and deleted.
 */
function SlotTools({
  slug,
  slot,
  isOffered,
  saveBytesMax,
  hasEmptySlot,
  renameButton,
  onRename,
  announce,
}: {
  slug: string;
  slot: UsedSlot;
  isOffered: boolean;
  saveBytesMax: number;
  hasEmptySlot: boolean;
  renameButton: RefObject<HTMLButtonElement | null>;
  onRename: () => void;
  announce: (text: string) => void;
}) {
  const { id: slotId, slotNumber, state } = slot;
  const [isDeleting, setIsDeleting] = useState(false);
  const copy = useSavesChange(slug, announce);
  const isFree = state === "free";
  const startCopy = (): void =>
    copy.mutate({
      work: () => copySlot({ slug, slotId }),
      done: `The save of ${slotName(slot)} was copied into an empty slot.`,
    });
  return (
    <div className="slot-tools">
      <button
        ref={renameButton}
        type="button"
        className="button button-small"
        aria-label={`Rename slot ${slotNumber}`}
        onClick={onRename}
      >
        Rename
      </button>
      {isFree && isOffered && hasEmptySlot && currentVersion(slot)?.isReadable === true && (
        <ActionButton
          className="button button-small"
          isBusy={copy.isPending}
          aria-label={`Copy slot ${slotNumber} to an empty slot`}
          onClick={startCopy}
        >
          {copy.isPending ? "Copying…" : "Copy"}
        </ActionButton>
      )}
      {isFree && (
        <button
          type="button"
          className="button button-small button-danger"
          aria-label={`Delete slot ${slotNumber}`}
          onClick={() => setIsDeleting(true)}
        >
          Delete
        </button>
      )}
      {isFree && isOffered && (
        <UploadIntoSlot slug={slug} slot={slot} saveBytesMax={saveBytesMax} announce={announce} />
      )}
      {copy.isError && (
        <p className="message message-problem" role="alert">
          {sentenceFor(copy.error)}
        </p>
      )}
      {isDeleting && (
        <DeleteDialog slug={slug} slot={slot} announce={announce} onDismiss={() => setIsDeleting(false)} />
      )}
    </div>
  );
}

/** Replaces the slot's save by an upload, which ends when the slot is deleted or taken. */
function UploadIntoSlot({
  slug,
  slot: { id: slotId, slotNumber },
  saveBytesMax,
  announce,
}: {
  slug: string;
  slot: UsedSlot;
  saveBytesMax: number;
  announce: (text: string) => void;
}) {
  return (
    <UploadSave slotNumber={slotNumber} upload={useSaveUpload({ slug, slotId, saveBytesMax, announce })} />
  );
}

/** Renames a slot in its place. Escape leaves the name as it is. */
function SlotNameForm({
  slug,
  slot: { id: slotId, slotNumber, label },
  announce,
  onEnd,
}: {
  slug: string;
  slot: UsedSlot;
  announce: (text: string) => void;
  onEnd: () => void;
}) {
  const [name, setName] = useState(label ?? "");
  const input = useRef<HTMLInputElement>(null);
  const rename = useSavesChange(slug, announce);
  useEffect(() => input.current?.select(), []);
  const tooLong = labelProblem(name);
  const problem = tooLong ?? (rename.isError ? sentenceFor(rename.error) : undefined);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    if (tooLong !== undefined) return;
    rename.mutate(
      { work: () => renameSlot({ slug, slotId }, name), done: `Slot ${slotNumber} has its new name.` },
      { onSuccess: onEnd },
    );
  };
  return (
    <form
      className="slot-name"
      onSubmit={submit}
      onKeyDown={({ key, nativeEvent }) => {
        if (key === "Escape" && !isOfInputMethod(nativeEvent)) onEnd();
      }}
    >
      <input
        ref={input}
        aria-label={`Name of slot ${slotNumber}`}
        aria-invalid={problem !== undefined}
        value={name}
        placeholder={`Playthrough ${slotNumber}`}
        autoComplete="off"
        onChange={({ target }) => setName(target.value)}
      />
      <div className="slot-name-actions">
        <ActionButton type="submit" className="button button-small button-primary" isBusy={rename.isPending}>
          {rename.isPending ? "Saving…" : "Save name"}
        </ActionButton>
        <button type="button" className="button button-small button-quiet" onClick={onEnd}>
          Cancel
        </button>
      </div>
      {problem !== undefined && (
        <p className="message message-problem" role="alert">
          {problem}
        </p>
      )}
    </form>
  );
}

/**
 * Returns whether a key is for an input method, such as Escape that cancels its candidates; of the last one
 * Safari says so by the code alone.
 */
function isOfInputMethod(event: KeyboardEvent): boolean {
  return event.isComposing || event.keyCode === 229; // oxlint-disable-line typescript/no-deprecated -- Nothing else says it.
}

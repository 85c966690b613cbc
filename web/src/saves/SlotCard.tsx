import { useRef, useState, type RefObject, useEffect, type SubmitEvent } from "react";
import { useTranslation } from "react-i18next";
import { Link } from "react-router";
import type { SaveVersion } from "#contracts/http/saves.ts";
import { describeError } from "../client/apiError.ts";
import { copySlot, renameSlot } from "../client/saves.ts";
import { ActionButton } from "../components/ActionButton.tsx";
import { formatMoment } from "../components/format.ts";
import { Icon } from "../components/Icon.tsx";
import { playPath } from "../launch/playPath.ts";
import { useActiveGameSession } from "../launch/useActiveGameSession.ts";
import { ContinueFromDialog } from "./ContinueFromDialog.tsx";
import { SavePicture } from "./SavePicture.tsx";
import { ShareDialog } from "./ShareDialog.tsx";
import { RestoreDialog, DeleteDialog } from "./SlotDialogs.tsx";
import {
  type SlotActions,
  findCurrentVersion,
  hasLateCopy,
  describeLastPlayed,
  findReadableBefore,
  type UsedSlot,
  describeSlot,
  findLabelProblem,
} from "./slotText.ts";
import { SlotVersions } from "./SlotVersions.tsx";
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

/** A slot that is in use, with its state, saves and actions. */
export function SlotCard({ slot, now, saveBytesMax, hasEmptySlot, actions, announce }: SlotCardProps) {
  const { t } = useTranslation("saves");
  const [isRenaming, setIsRenaming] = useState(false);
  const [restoring, setRestoring] = useState<SaveVersion>();
  const [continuing, setContinuing] = useState<SaveVersion>();
  const [sharing, setSharing] = useState<SaveVersion>();
  const current = findCurrentVersion(slot);
  const onRestore = actions.launch === undefined ? undefined : setRestoring;
  const renameButton = useRef<HTMLButtonElement>(null);
  const endRenaming = (): void => {
    setIsRenaming(false);
    renameButton.current?.focus();
  };
  return (
    <li className="slot">
      {current !== undefined && (
        <SavePicture slot={{ slug: actions.slug, slotId: slot.id }} version={current} />
      )}
      <div className="slot-head">
        <span className="slot-number" aria-hidden="true">
          {slot.slotNumber}
        </span>
        {isRenaming ? (
          <SlotNameForm slug={actions.slug} slot={slot} announce={announce} onEnd={endRenaming} />
        ) : (
          <>
            <div className="slot-text">
              <strong>{slot.label ?? t("slotTitle", { number: slot.slotNumber })}</strong>
              <span>{describeLastPlayed(slot, now)}</span>
            </div>
            <MainButton slot={slot} actions={actions} />
          </>
        )}
      </div>
      <SlotNotes slot={slot} onRestore={onRestore} />
      <details className="slot-saves">
        <summary>
          {t("card.saves")}
          <span className="slot-count">{slot.versions.length}</span>
          <span className="visually-hidden">{t("card.ofSlot", { number: slot.slotNumber })}</span>
        </summary>
        <SlotVersions
          slug={actions.slug}
          slot={slot}
          now={now}
          hasEmptySlot={hasEmptySlot}
          onRestore={onRestore}
          onContinueFrom={actions.launch === undefined ? undefined : setContinuing}
          onShare={actions.launch === undefined ? undefined : setSharing}
        />
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
      {sharing !== undefined && (
        <ShareDialog
          slot={{ slug: actions.slug, slotId: slot.id }}
          version={sharing}
          onDismiss={() => setSharing(undefined)}
        />
      )}
      {continuing !== undefined && actions.launch !== undefined && (
        <ContinueFromDialog
          slug={actions.slug}
          slot={slot}
          version={continuing}
          announce={announce}
          onContinue={actions.launch.onContinue}
          onDismiss={() => setContinuing(undefined)}
        />
      )}
    </li>
  );
}

/**
 * Continues the slot, or links to the session that plays it. There is none while its last save is being
 * stored.
 */
function MainButton({
  slot: { id, slotNumber, state },
  actions: { slug, launch },
}: Pick<SlotCardProps, "slot" | "actions">) {
  const { t } = useTranslation(["saves", "common"]);
  const active = useActiveGameSession();
  if (state === "storing") return null;
  if (state === "playing") {
    if (active?.gameSlug !== slug) return null;
    return (
      <Link
        className="button"
        to={playPath(active)}
        aria-label={t("card.resumeSlot", { number: slotNumber })}
      >
        <Icon name="play" />
        {t("card.resume")}
      </Link>
    );
  }
  if (launch === undefined) return null;
  const isLaunching = launch.isBusy && launch.choice?.saveSlotId === id;
  const label = isLaunching ? t("common:launching") : t("card.continue");
  return (
    <ActionButton
      className="button"
      isBusy={launch.isBusy}
      aria-label={t("card.continueSlot", { action: label, number: slotNumber })}
      onClick={() => launch.onContinue(id)}
    >
      <Icon name="play" />
      {label}
    </ActionButton>
  );
}

/** What the player should know about the slot without opening the list of its saves. */
function SlotNotes({
  slot,
  onRestore,
}: {
  slot: UsedSlot;
  onRestore: ((version: SaveVersion) => void) | undefined;
}) {
  const { t } = useTranslation("saves");
  const current = findCurrentVersion(slot);
  const isDamaged = current?.isReadable === false;
  const before = isDamaged ? findReadableBefore(slot.versions, current.id) : undefined;
  return (
    <div className="slot-notes" role="status">
      {slot.state === "playing" && <p className="message">{t("note.playing")}</p>}
      {slot.state === "storing" && <p className="message">{t("note.storing")}</p>}
      {isDamaged && (
        <p className="message message-problem">
          {t("note.damaged")}{" "}
          {before === undefined ? (
            t("note.noEarlier")
          ) : slot.state !== "free" || onRestore === undefined ? (
            t("note.earlier")
          ) : (
            <button type="button" className="text-button" onClick={() => onRestore(before)}>
              {t("versions.restorePrevious", { time: formatMoment(before.savedAt) })}
            </button>
          )}
        </p>
      )}
      {hasLateCopy(slot) && <p className="message">{t("note.lateCopy")}</p>}
    </div>
  );
}

/**
 * The actions on a slot as a whole. A slot in use can only be renamed; a slot of a game that is no longer
 * offered can only be renamed and deleted.
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
  const { t } = useTranslation(["saves", "common"]);
  const { id: slotId, slotNumber, state } = slot;
  const [isDeleting, setIsDeleting] = useState(false);
  const copy = useSavesChange(slug, announce);
  const isFree = state === "free";
  const startCopy = (): void =>
    copy.mutate({
      work: () => copySlot({ slug, slotId }),
      done: t("copy.done", { slot: describeSlot(slot) }),
    });
  return (
    <div className="slot-tools">
      <button
        ref={renameButton}
        type="button"
        className="button button-small"
        aria-label={t("rename.slot", { number: slotNumber })}
        onClick={onRename}
      >
        {t("rename.button")}
      </button>
      {isFree && isOffered && hasEmptySlot && findCurrentVersion(slot)?.isReadable === true && (
        <ActionButton
          className="button button-small"
          isBusy={copy.isPending}
          aria-label={t("copy.slot", { number: slotNumber })}
          onClick={startCopy}
        >
          {copy.isPending ? t("copy.copying") : t("copy.button")}
        </ActionButton>
      )}
      {isFree && (
        <button
          type="button"
          className="button button-small button-danger"
          aria-label={t("delete.slot", { number: slotNumber })}
          onClick={() => setIsDeleting(true)}
        >
          {t("delete.button")}
        </button>
      )}
      {isFree && isOffered && (
        <UploadIntoSlot slug={slug} slot={slot} saveBytesMax={saveBytesMax} announce={announce} />
      )}
      {copy.isError && (
        <p className="message message-problem" role="alert">
          {describeError(copy.error)}
        </p>
      )}
      {isDeleting && (
        <DeleteDialog slug={slug} slot={slot} announce={announce} onDismiss={() => setIsDeleting(false)} />
      )}
    </div>
  );
}

/** Replaces the slot's save by an upload, which is cancelled when the slot is deleted or played. */
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

/** Renames a slot in place. Escape cancels. */
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
  const { t } = useTranslation(["saves", "common"]);
  const [name, setName] = useState(label ?? "");
  const input = useRef<HTMLInputElement>(null);
  const rename = useSavesChange(slug, announce);
  useEffect(() => input.current?.select(), []);
  const tooLong = findLabelProblem(name);
  const problem = tooLong ?? (rename.isError ? describeError(rename.error) : undefined);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    if (tooLong !== undefined) return;
    rename.mutate(
      { work: () => renameSlot({ slug, slotId }, name), done: t("rename.done", { number: slotNumber }) },
      { onSuccess: onEnd },
    );
  };
  return (
    <form
      className="slot-name"
      onSubmit={submit}
      onKeyDown={({ key, nativeEvent }) => {
        if (key === "Escape" && !isInputMethodKey(nativeEvent)) onEnd();
      }}
    >
      <input
        ref={input}
        aria-label={t("rename.label", { number: slotNumber })}
        aria-invalid={problem !== undefined}
        value={name}
        placeholder={t("rename.placeholder", { number: slotNumber })}
        autoComplete="off"
        onChange={({ target }) => setName(target.value)}
      />
      <div className="slot-name-actions">
        <ActionButton type="submit" className="button button-small button-primary" isBusy={rename.isPending}>
          {rename.isPending ? t("common:saving") : t("rename.save")}
        </ActionButton>
        <button type="button" className="button button-small button-quiet" onClick={onEnd}>
          {t("common:cancel")}
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
 * Returns whether a key belongs to an input method, such as Escape to cancel its candidates. For the last key
 * Safari reports that only by the key code.
 */
function isInputMethodKey(event: KeyboardEvent): boolean {
  return event.isComposing || event.keyCode === 229; // oxlint-disable-line typescript/no-deprecated -- Safari has no other sign.
}

import { useEffect, useRef } from "react";
import { useMutation } from "@tanstack/react-query";
import { Trans, useTranslation } from "react-i18next";
import type { GameSessionStatusResponse, LaunchRequest, StopResponse } from "#contracts/http/gameSessions.ts";
import { describeError } from "../client/apiError.ts";
import { restoreSave } from "../client/saves.ts";
import { ActionButton } from "../components/ActionButton.tsx";
import { formatDuration, formatMoment, formatTimeAgo } from "../components/format.ts";
import { Icon } from "../components/Icon.tsx";
import { LaunchConflict } from "../launch/LaunchProblems.tsx";
import type { SlotChoice } from "../launch/playPath.ts";
import { refreshSlots, useLaunch } from "../launch/useLaunch.ts";
import { useSaves } from "../saves/useSaves.ts";
import { useNow } from "../components/useNow.ts";
import { describeEnd, describeGameError, slotToContinue } from "./endMessage.ts";
import { ExitLinks } from "./PlayFrame.tsx";

/** Shows why the session ended, what it used, and what the player can do next. */
export function SessionEnded({
  session,
  statistics,
  gameSlug,
  choice,
}: {
  session: GameSessionStatusResponse;
  statistics: StopResponse | undefined;
  gameSlug: string | undefined;
  /** The slot that the session was launched with. */
  choice: SlotChoice;
}) {
  const { t } = useTranslation(["play", "common"]);
  const { title, text } = describeEnd(session);
  const details = describeGameError(session);
  const heading = useRef<HTMLHeadingElement>(null);
  // The element that had the focus, the game or the stop button, is gone.
  useEffect(() => {
    if (document.activeElement === document.body) heading.current?.focus();
  }, []);
  return (
    <section className="play-message" aria-labelledby="ended-title">
      <p className="eyebrow">{session.gameTitle}</p>
      <h1 ref={heading} id="ended-title" tabIndex={-1}>
        {title}
      </h1>
      <p className="lead" role={session.status === "error" ? "alert" : "status"}>
        {text}
      </p>
      {details !== undefined && (
        <p>
          {t("ended.gameError.report")}
          <br />
          <code data-testid="game-error">{details}</code>
        </p>
      )}
      <FullFolders folders={session.fullFolders ?? []} />
      {session.earlierSave !== undefined && gameSlug !== undefined && (
        <EarlierSave slug={gameSlug} save={session.earlierSave} />
      )}
      {statistics !== undefined && statistics.duration > 0 && <Statistics statistics={statistics} />}
      {gameSlug !== undefined && <LastSave slug={gameSlug} choice={choice} />}
      <div className="actions">
        {gameSlug !== undefined && (
          <PlayAgain
            request={{ gameSlug, ...choice }}
            label={session.status === "error" ? t("common:retry") : t("ended.playAgain")}
          />
        )}
        <ExitLinks gameSlug={gameSlug} />
      </div>
    </section>
  );
}

/** Says which space the game ran out of. */
function FullFolders({ folders }: { folders: NonNullable<GameSessionStatusResponse["fullFolders"]> }) {
  const { t } = useTranslation("play");
  if (folders.length === 0) return null;
  const isTemporaryFull = folders.some((folder) => folder !== "home");
  return (
    <p className="message" data-testid="full-folders">
      {[folders.includes("home") && t("ended.full.home"), isTemporaryFull && t("ended.full.temporary")]
        .filter(Boolean)
        .join(" ")}
    </p>
  );
}

/** Says which save another launch continues from, and how old it is. */
function LastSave({ slug, choice }: { slug: string; choice: SlotChoice }) {
  const { t } = useTranslation("play");
  const { data } = useSaves(slug);
  const now = useNow(30_000);
  const slot = data && slotToContinue(data.slots, choice);
  if (slot === undefined) return null;
  if (slot.state === "playing" || slot.state === "storing")
    return <p className="last-save">{t("ended.lastSave.storing")}</p>;
  const save = slot.versions.find(({ isCurrent, isReadable }) => isCurrent && isReadable);
  if (save === undefined)
    return <p className="last-save">{t("ended.lastSave.none", { number: slot.slotNumber })}</p>;
  return (
    <p className="last-save" data-testid="last-save">
      <Trans
        t={t}
        i18nKey="ended.lastSave.text"
        values={{ number: slot.slotNumber, age: formatTimeAgo(save.savedAt, now) }}
        components={{ strong: <strong /> }}
      />
    </p>
  );
}

/** Offers the save from before a last one that may be incomplete. */
function EarlierSave({
  slug,
  save: { saveSlotId, versionId, savedAt },
}: {
  slug: string;
  save: NonNullable<GameSessionStatusResponse["earlierSave"]>;
}) {
  const { t } = useTranslation("play");
  const time = formatMoment(savedAt);
  const restore = useMutation({
    mutationFn: () => restoreSave({ slug, slotId: saveSlotId }, versionId),
    onSettled: (_result, _error, _input, _before, { client }) => refreshSlots(client, slug),
  });
  if (restore.isSuccess) return <p role="status">{t("ended.earlier.done", { time })}</p>;
  return (
    <>
      <p>
        <Trans t={t} i18nKey="ended.earlier.text" values={{ time }} components={{ strong: <strong /> }} />
      </p>
      {restore.error !== null && (
        <p className="message message-problem" role="alert">
          {describeError(restore.error)}
        </p>
      )}
      <div className="actions">
        <ActionButton className="button" isBusy={restore.isPending} onClick={() => restore.mutate()}>
          {restore.isPending ? t("ended.earlier.restoring") : t("ended.earlier.use", { time })}
        </ActionButton>
      </div>
    </>
  );
}

function Statistics({ statistics: { duration, cpuSeconds, peakMemoryMb } }: { statistics: StopResponse }) {
  const { t } = useTranslation("play");
  const figures = [
    [t("ended.played"), formatDuration(duration), "duration"],
    [t("ended.processorTime"), t("ended.seconds", { seconds: cpuSeconds.toFixed(1) }), "cpu"],
    [t("ended.peakMemory"), t("ended.megabytes", { megabytes: Math.round(peakMemoryMb) }), "memory"],
  ] as const;
  return (
    <dl className="figures" data-testid="stop-statistics">
      {figures.map(([name, value, key]) => (
        <div key={key}>
          <dt>{name}</dt>
          <dd data-testid={`stop-${key}`}>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Launches the game again with the slot of this session. */
function PlayAgain({ request, label }: { request: LaunchRequest; label: string }) {
  const { t } = useTranslation(["play", "common"]);
  const launch = useLaunch();
  return (
    <>
      {launch.error !== null && (
        <p className="message message-problem" role="alert">
          {describeError(launch.error)}
        </p>
      )}
      <ActionButton
        className="button button-primary"
        isBusy={launch.isLaunching}
        onClick={() => launch.start(request)}
      >
        <Icon name="play" />
        {launch.isLaunching ? t("common:launching") : label}
      </ActionButton>
      <LaunchConflict launch={launch} />
    </>
  );
}

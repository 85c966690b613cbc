import { useEffect, useState } from "react";
import { useMutation } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import type { GameSessionStatusResponse, QueuePlace } from "#contracts/http/gameSessions.ts";
import { limits } from "#contracts/limits.ts";
import { describeError } from "../client/apiError.ts";
import { confirmSeat } from "../client/gameSessions.ts";
import { ActionButton } from "../components/ActionButton.tsx";
import { Dialog } from "../components/Dialog.tsx";
import { formatCountdown } from "../components/format.ts";
import { useNow } from "../components/useNow.ts";
import { describeWait } from "./queueText.ts";
import { useSeatNotification } from "./useSeatNotification.ts";
import { useTitleNotice } from "./useTitleNotice.ts";
import { playWarningSound } from "./warningSound.ts";
import type { GameSessionView } from "./useGameSession.ts";

/** The sound is repeated while a seat is held. */
const soundMs = 15_000;

/** The player's place in the queue, and the question whether to take the seat when it is ready. */
export function QueueWait({
  session,
  queue,
  view,
}: {
  session: GameSessionStatusResponse;
  queue: QueuePlace;
  view: GameSessionView;
}) {
  const { t } = useTranslation("play");
  const { sessionId, gameTitle } = session;
  const notification = useSeatNotification();
  const { position, waitSeconds, confirmBy } = queue;
  const error = view.error ?? view.stopError;
  const place = position === 1 ? t("queue.next") : t("queue.place", { position });
  return (
    <section className="play-message queue" aria-labelledby="queue-title">
      <p className="eyebrow">{gameTitle}</p>
      <h1 id="queue-title">{t("queue.title")}</h1>
      <p className="queue-place" role="status">
        {place}
      </p>
      {waitSeconds !== undefined && <p className="lead">{describeWait(waitSeconds)}</p>}
      <p className="muted">{t("queue.keepOpen")}</p>
      {error !== null && (
        <p className="message message-problem" role="alert">
          {describeError(error)}
        </p>
      )}
      <div className="actions">
        {notification.canAsk && (
          <button type="button" className="button" onClick={notification.ask}>
            {t("queue.notify")}
          </button>
        )}
        <ActionButton className="button" isBusy={view.isStopping} onClick={view.stop}>
          {view.isStopping ? t("queue.leaving") : t("queue.leave")}
        </ActionButton>
      </div>
      {confirmBy !== undefined && (
        <SeatReady
          key={confirmBy}
          sessionId={sessionId}
          gameTitle={gameTitle}
          view={view}
          notify={notification.show}
        />
      )}
    </section>
  );
}

/** Asks the player to take the seat, by a dialog, in the title, by a sound and by a notification. */
function SeatReady({
  sessionId,
  gameTitle,
  view,
  notify,
}: {
  sessionId: string;
  gameTitle: string;
  view: GameSessionView;
  notify: (title: string, text: string) => () => void;
}) {
  const { t } = useTranslation("play");
  // By the local clock alone, which may be hours off the server's. Events arrive within two seconds.
  const [until] = useState(() => Date.now() + limits.queue.confirmSeconds * 1_000);
  const time = formatCountdown(until - useNow(1_000));
  useTitleNotice(t("queue.tab", { time }));
  useEffect(() => {
    playWarningSound();
    const timer = setInterval(playWarningSound, soundMs);
    return () => clearInterval(timer);
  }, []);
  useEffect(
    () => notify(t("queue.readyTitle"), t("queue.readyNotice", { title: gameTitle })),
    [notify, t, gameTitle],
  );
  const { refresh } = view;
  const taking = useMutation({ mutationFn: () => confirmSeat(sessionId), onSettled: refresh });
  const isBusy = taking.isPending || view.isStopping;
  return (
    <Dialog
      title={t("queue.readyTitle")}
      isBusy={isBusy}
      // Only an answer closes it.
      onDismiss={() => undefined}
      actions={
        <>
          <ActionButton
            className="button button-primary"
            isBusy={taking.isPending}
            onClick={() => taking.mutate()}
          >
            {taking.isPending ? t("queue.taking") : t("queue.take")}
          </ActionButton>
          <button type="button" className="button" disabled={isBusy} onClick={view.stop}>
            {t("queue.decline")}
          </button>
        </>
      }
    >
      <p>{t("queue.readyText", { title: gameTitle })}</p>
      <p className="queue-countdown" aria-live="off">
        {time}
      </p>
      {taking.error !== null && (
        <p className="message message-problem" role="alert">
          {describeError(taking.error)}
        </p>
      )}
    </Dialog>
  );
}

import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { Spinner } from "../components/Notice.tsx";
import { t } from "../i18n.ts";
import type { GameStream } from "../stream/gameStream.ts";
import type { StreamState } from "../stream/streamState.ts";
import { ExitLinks } from "./PlayFrame.tsx";

interface StreamOverlayProps {
  state: StreamState;
  hasPicture: boolean;
  stream: GameStream | undefined;
  gameSlug: string | undefined;
}

/** Covers the picture while the game cannot be played: connecting, playing in another tab, ended. */
export function StreamOverlay({ state, hasPicture, stream, gameSlug }: StreamOverlayProps) {
  const { t } = useTranslation(["play", "common"]);
  switch (state.phase) {
    case "connected":
      return hasPicture ? null : (
        <Overlay>
          <Spinner label={t("overlay.firstPicture")} />
        </Overlay>
      );
    case "idle":
    case "connecting":
      return (
        <Overlay isTranslucent={hasPicture}>
          <Spinner
            label={
              state.phase === "connecting" && state.isReconnect
                ? t("overlay.reconnecting")
                : t("overlay.connecting")
            }
          />
        </Overlay>
      );
    case "waiting":
      return (
        <Overlay isTranslucent={hasPicture}>
          <Spinner label={state.isReconnect ? t("overlay.lost") : t("overlay.notConnected")} />
        </Overlay>
      );
    case "occupied":
      return (
        <TakeOverPrompt
          title={t("occupied.title")}
          stream={stream}
          action={t("occupied.action")}
          gameSlug={gameSlug}
        >
          {t("occupied.text")}
        </TakeOverPrompt>
      );
    case "takenOver":
      return (
        <TakeOverPrompt
          title={t("takenOver.title")}
          stream={stream}
          action={t("takenOver.action")}
          gameSlug={gameSlug}
        >
          {t("takenOver.text")}
        </TakeOverPrompt>
      );
    case "ended":
      return (
        <Overlay>
          <Spinner label={state.notice.by === "game" ? t("overlay.gameEnded") : t("overlay.sessionEnding")} />
        </Overlay>
      );
    case "failed":
      return (
        <Overlay>
          <h2>{t("failed.title")}</h2>
          <p role="alert">{failureText(state)}</p>
          <div className="actions">
            <button type="button" className="button button-primary" onClick={() => stream?.retry()}>
              {t("common:retry")}
            </button>
            <ExitLinks gameSlug={gameSlug} />
          </div>
        </Overlay>
      );
  }
}

function failureText({ code, message }: Extract<StreamState, { phase: "failed" }>): string {
  switch (code) {
    case "unsupported":
      return t("errors:noWebRtc");
    case "no_path":
    case "gave_up":
      return t(`play:failed.${code}`);
    default:
      return message; // Of the API or the streamer.
  }
}

function TakeOverPrompt({
  title,
  children,
  stream,
  action,
  gameSlug,
}: {
  title: string;
  children: ReactNode;
  stream: GameStream | undefined;
  action: string;
  gameSlug: string | undefined;
}) {
  return (
    <Overlay>
      <h2>{title}</h2>
      <p role="status">{children}</p>
      <div className="actions">
        <button type="button" className="button button-primary" autoFocus onClick={() => stream?.takeOver()}>
          {action}
        </button>
        <ExitLinks gameSlug={gameSlug} />
      </div>
    </Overlay>
  );
}

/** Covers the picture; with `isTranslucent` the last picture stays visible. */
function Overlay({ children, isTranslucent = false }: { children: ReactNode; isTranslucent?: boolean }) {
  return (
    <div className={isTranslucent ? "overlay overlay-translucent" : "overlay"}>
      <div className="play-message">{children}</div>
    </div>
  );
}

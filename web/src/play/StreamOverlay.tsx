import type { ReactNode } from "react";
import { Spinner } from "../components/Notice.tsx";
import type { GameStream } from "../stream/gameStream.ts";
import type { StreamState } from "../stream/streamState.ts";
import { ExitLinks } from "./PlayFrame.tsx";

interface StreamOverlayProps {
  state: StreamState;
  hasPicture: boolean;
  stream: GameStream | undefined;
  gameSlug: string | undefined;
}

/**
 * Covers the picture while it cannot be played: connecting, playing in another tab, ended. Shows nothing
 * while the game is played.
 */
export function StreamOverlay({ state, hasPicture, stream, gameSlug }: StreamOverlayProps) {
  switch (state.phase) {
    case "connected":
      return hasPicture ? null : (
        <Overlay>
          <Spinner label="Waiting for the first picture…" />
        </Overlay>
      );
    case "idle":
    case "connecting":
      return (
        <Overlay isTranslucent={hasPicture}>
          <Spinner
            label={state.phase === "connecting" && state.isReconnect ? "Reconnecting…" : "Connecting…"}
          />
        </Overlay>
      );
    case "waiting":
      return (
        <Overlay isTranslucent={hasPicture}>
          <Spinner
            label={state.isReconnect ? "Connection lost. Reconnecting…" : "Not connected yet. Trying again…"}
          />
        </Overlay>
      );
    case "occupied":
      return (
        <TakeOverPrompt title="Playing in another tab" stream={stream} action="Play here" gameSlug={gameSlug}>
          This game is open in another tab or browser of yours. If you play here, it stops there.
        </TakeOverPrompt>
      );
    case "takenOver":
      return (
        <TakeOverPrompt
          title="You moved to another tab"
          stream={stream}
          action="Take it back"
          gameSlug={gameSlug}
        >
          The game goes on in the other tab or browser.
        </TakeOverPrompt>
      );
    case "ended":
      return (
        <Overlay>
          <Spinner
            label={
              state.notice.by === "game"
                ? "The game has ended. Saving your progress…"
                : "The session is ending. Saving your progress…"
            }
          />
        </Overlay>
      );
    case "failed":
      return (
        <Overlay>
          <h2>The stream is not available</h2>
          <p role="alert">{state.message}</p>
          <div className="actions">
            <button type="button" className="button button-primary" onClick={() => stream?.retry()}>
              Try again
            </button>
            <ExitLinks gameSlug={gameSlug} />
          </div>
        </Overlay>
      );
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

/** Covers the picture; `isTranslucent` leaves the last one visible. */
function Overlay({ children, isTranslucent = false }: { children: ReactNode; isTranslucent?: boolean }) {
  return (
    <div className={isTranslucent ? "overlay overlay-translucent" : "overlay"}>
      <div className="play-message">{children}</div>
    </div>
  );
}

import type { ReactNode } from "react";
import type { GameStream } from "../stream/gameStream.ts";
import type { StreamState } from "../stream/streamState.ts";
import { Spinner } from "../components/Notice.tsx";
import { WaysOut } from "./PlayFrame.tsx";

interface StreamCurtainProps {
  state: StreamState;
  hasPicture: boolean;
  stream: GameStream | undefined;
  gameSlug: string | undefined;
}

/** Lies over the picture while there is none to play: connecting, playing elsewhere, ended. Nothing while the game is played. */
export function StreamCurtain({ state, hasPicture, stream, gameSlug }: StreamCurtainProps) {
  switch (state.phase) {
    case "connected":
      return hasPicture ? null : <Curtain><Spinner label="Waiting for the first picture…" /></Curtain>;
    case "idle":
    case "connecting":
      return <Curtain isThin={hasPicture}><Spinner label={state.phase === "connecting" && state.isReconnect ? "Reconnecting…" : "Connecting…"} /></Curtain>;
    case "waiting":
      return <Curtain isThin={hasPicture}><Spinner label="Connection lost. Reconnecting…" /></Curtain>;
    case "occupied":
      return (
        <Elsewhere title="Playing in another tab" stream={stream} action="Play here" gameSlug={gameSlug}>
          This game is open in another tab or browser of yours. If you play here, it stops there.
        </Elsewhere>
      );
    case "takenOver":
      return (
        <Elsewhere title="You moved to another tab" stream={stream} action="Take it back" gameSlug={gameSlug}>
          The game goes on in the other tab or browser.
        </Elsewhere>
      );
    case "ended":
      return <Curtain><Spinner label={state.notice.by === "game" ? "The game has ended. Saving your progress…" : "The session is ending. Saving your progress…"} /></Curtain>;
    case "failed":
      return (
        <Curtain>
          <h2>The stream is not available</h2>
          <p role="alert">{state.message}</p>
          <div className="actions">
            <button type="button" className="button button-primary" onClick={() => stream?.retry()}>Try again</button>
            <WaysOut gameSlug={gameSlug} />
          </div>
        </Curtain>
      );
  }
}

function Elsewhere({ title, children, stream, action, gameSlug }: {
  title: string;
  children: ReactNode;
  stream: GameStream | undefined;
  action: string;
  gameSlug: string | undefined;
}) {
  return (
    <Curtain>
      <h2>{title}</h2>
      <p role="status">{children}</p>
      <div className="actions">
        <button type="button" className="button button-primary" autoFocus onClick={() => stream?.takeOver()}>{action}</button>
        <WaysOut gameSlug={gameSlug} />
      </div>
    </Curtain>
  );
}

/** `isThin` lets the last picture shine through. */
function Curtain({ children, isThin = false }: { children: ReactNode; isThin?: boolean }) {
  return <div className={isThin ? "curtain curtain-thin" : "curtain"}><div className="curtain-body">{children}</div></div>;
}

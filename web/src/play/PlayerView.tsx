import { useCallback, useEffect, useRef, useState, type ReactNode, type RefObject } from "react";
import type { GameSessionStatusResponse } from "#contracts/http/gameSessions.ts";
import { sentenceFor } from "../client/apiError.ts";
import type { Size } from "../stream/pictureArea.ts";
import { menuChord } from "../stream/keyboardCapture.ts";
import { isPointerLocked, unlockPointer } from "../stream/pointerLock.ts";
import { isInPlay } from "../stream/streamState.ts";
import { ExpiryWarning } from "./ExpiryWarning.tsx";
import { PlayControls } from "./PlayControls.tsx";
import { PlayBrand } from "./PlayFrame.tsx";
import { StatisticsOverlay } from "./StatisticsOverlay.tsx";
import { StopDialog } from "./StopDialog.tsx";
import { StreamOverlay } from "./StreamOverlay.tsx";
import { useIsPointerLocked } from "./useDocumentFlag.ts";
import type { GameSessionView } from "./useGameSession.ts";
import { useSaveNow, type SaveNow } from "./useSaveNow.ts";
import type { GameStreamView } from "./useGameStream.ts";
import { useInputCapture } from "./useInputCapture.ts";
import { useVideoPlayback } from "./useVideoPlayback.ts";

interface PlayerViewProps {
  /** Covers everything while the session starts; false once it runs. */
  launch: ReactNode;
  session: GameSessionStatusResponse;
  stream: GameStreamView;
  view: GameSessionView;
  gameSlug: string | undefined;
}

/** The game's picture, which fills the window and takes the player's input, with the controls above it. */
export function PlayerView({
  launch,
  session,
  stream: { stream, state, media, hello, quality },
  view,
  gameSlug,
}: PlayerViewProps) {
  const root = useRef<HTMLElement>(null);
  const surface = useRef<HTMLDivElement>(null);
  const video = useRef<HTMLVideoElement>(null);
  const menu = useRef<HTMLDivElement>(null);
  const [isAsking, setIsAsking] = useState(false);
  const [hasStatistics, setHasStatistics] = useState(false);
  const isLocked = usePointerLock(state.phase);
  const playback = useVideoPlayback(video, media);
  const saving = useSaveNow(session, gameSlug);
  const isLaunching = Boolean(launch);
  const display = useDisplaySize(quality);
  const showMenu = useMenu(menu, isLocked);
  const isPlaying = state.phase === "connected" && !isLaunching;

  useFocusOf(surface, menu, isPlaying);
  useInputCapture(isInPlay(state) && !isLaunching, { surface, video, stream, display, onMenu: showMenu });

  return (
    <main
      ref={root}
      className="player"
      id="main"
      data-phase={isLaunching ? "launching" : isPlaying && playback.hasPicture ? "playing" : state.phase}
    >
      {!isLaunching && <h1 className="visually-hidden">{session.gameTitle}</h1>}
      <div
        ref={surface}
        className="surface"
        role="application"
        aria-label={`${session.gameTitle}. Keys go to the game; ${menuChord} leads to the controls.`}
        data-testid="game-surface"
        tabIndex={0}
        inert={isLaunching}
      >
        <video
          ref={video}
          className="picture"
          autoPlay
          playsInline
          disablePictureInPicture
          data-testid="game-video"
        />
      </div>
      {isLaunching ? (
        <div className="launch">
          <PlayBrand />
          {launch}
        </div>
      ) : (
        <>
          <StreamOverlay state={state} hasPicture={playback.hasPicture} stream={stream} gameSlug={gameSlug} />
          {hasStatistics && <StatisticsOverlay stream={stream} hello={hello} quality={quality} />}
          <PlayControls
            menuRef={menu}
            root={root}
            surface={surface}
            title={session.gameTitle}
            isHidden={isLocked}
            playback={playback}
            hasStatistics={hasStatistics}
            quality={quality}
            onQuality={(wish) => stream?.send({ t: "quality", ...wish })}
            canSave={session.status === "running" && !saving.isSaving}
            onSave={saving.save}
            onStatistics={() => setHasStatistics((shown) => !shown)}
            onStop={() => {
              // Closing the dialog gives the focus back to the element that has it now.
              surface.current?.focus({ preventScroll: true });
              setIsAsking(true);
            }}
          />
          <ExpiryWarning expiresAt={view.expiresAt} />
          <Notices saving={saving} stopError={view.stopError} saveNotice={session.saveNotice} />
          {isAsking && (
            <StopDialog title={session.gameTitle} onStop={view.stop} onDismiss={() => setIsAsking(false)} />
          )}
        </>
      )}
    </main>
  );
}

/**
 * What the player is told above the picture: what became of a save that they asked for, and what is the
 * matter with the session.
 */
function Notices({
  saving: { notice },
  stopError,
  saveNotice,
}: {
  saving: SaveNow;
  stopError: Error | null;
  saveNotice: string | undefined;
}) {
  return (
    <>
      <p className={notice?.isProblem === true ? "save-word save-word-problem" : "save-word"} role="status">
        {notice?.text}
      </p>
      <div className="player-warnings">
        {stopError !== null && (
          <p className="player-warning" role="alert">
            The game goes on, because it could not be stopped. {sentenceFor(stopError)}
          </p>
        )}
        {saveNotice !== undefined && (
          <p className="player-warning" role="alert">
            {saveNotice}
          </p>
        )}
      </div>
    </>
  );
}

/**
 * Returns what gives the keyboard to the first button of the controls: at once, or when they are there again
 * where a locked pointer hides them. The browser tells of a lock late, at times only when it has ended, so
 * the document is asked and not what was last rendered.
 */
function useMenu(menu: RefObject<HTMLElement | null>, isLocked: boolean): () => void {
  const isWanted = useRef(false);
  const focusWanted = useCallback(() => {
    if (!isWanted.current || isPointerLocked()) return;
    const control = menu.current?.querySelector("button");
    control?.focus();
    isWanted.current = document.activeElement !== control;
  }, [menu]);
  useEffect(focusWanted, [focusWanted, isLocked]);
  useEffect(() => {
    document.addEventListener("pointerlockchange", focusWanted);
    return () => document.removeEventListener("pointerlockchange", focusWanted);
  }, [focusWanted]);
  return useCallback(() => {
    isWanted.current = true;
    unlockPointer();
    focusWanted();
  }, [focusWanted]);
}

/**
 * Focuses the game once it plays. A connection that comes back leaves a player in the controls who is there.
 */
function useFocusOf(
  surface: RefObject<HTMLElement | null>,
  menu: RefObject<HTMLElement | null>,
  isPlaying: boolean,
): void {
  useEffect(() => {
    if (isPlaying && menu.current?.contains(document.activeElement) !== true)
      surface.current?.focus({ preventScroll: true });
  }, [isPlaying, surface, menu]);
}

/**
 * Returns whether the pointer is locked. It is given back where no game takes it any more, and the page asks
 * something that is to be clicked.
 */
function usePointerLock(phase: GameStreamView["state"]["phase"]): boolean {
  useEffect(() => {
    if (["occupied", "takenOver", "ended", "failed"].includes(phase)) unlockPointer();
  }, [phase]);
  return useIsPointerLocked();
}

/**
 * Keeps the size that the game's display begins with, which distances are told in, for listeners that outlive
 * a render.
 */
function useDisplaySize(quality: GameStreamView["quality"]): RefObject<Size | undefined> {
  const display = useRef<Size>(undefined);
  useEffect(() => {
    display.current = quality?.maximum;
  }, [quality]);
  return display;
}

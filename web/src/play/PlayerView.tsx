import { useCallback, useEffect, useRef, useState, type ReactNode, type RefObject } from "react";
import type { GameSessionStatusResponse } from "#contracts/http/gameSessions.ts";
import { sentenceFor } from "../client/apiError.ts";
import type { Size } from "../stream/pictureArea.ts";
import { menuChord } from "../stream/keyboardCapture.ts";
import { isPointerLocked, unlockPointer } from "../stream/pointerLock.ts";
import { isInPlay } from "../stream/streamState.ts";
import { PlayControls } from "./PlayControls.tsx";
import { PlayBrand } from "./PlayFrame.tsx";
import { StatisticsOverlay } from "./StatisticsOverlay.tsx";
import { StreamOverlay } from "./StreamOverlay.tsx";
import { useIsPointerLocked } from "./useDocumentFlag.ts";
import type { GameSessionView } from "./useGameSession.ts";
import { useSaveNow, type SaveNow } from "./useSaveNow.ts";
import type { GameStreamView } from "./useGameStream.ts";
import { useVideoPlayback } from "./useVideoPlayback.ts";
import { countdownText } from "../components/format.ts";
import { useNow } from "../components/useNow.ts";
import { Dialog } from "../components/Dialog.tsx";
import type { GameStream } from "../stream/gameStream.ts";
import { captureInput } from "../stream/inputCapture.ts";

interface InputCaptureParts {
  surface: RefObject<HTMLElement | null>;
  video: RefObject<HTMLVideoElement | null>;
  stream: GameStream | undefined;
  display: RefObject<Size | undefined>;
  onMenu: () => void;
}

/** Normally keepalives put off the end long before so little time is left. */
const warnBelowMs = 3 * 60_000;

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

/** Warns that the session will soon stop as idle because its keepalives do not get through. */
function ExpiryWarning({ expiresAt }: { expiresAt: string | undefined }) {
  const now = useNow(1_000);
  const left = expiresAt === undefined ? 0 : Date.parse(expiresAt) - now;
  // A platform may have a shorter idle timeout than usual: then the warning begins at half of the time that
  // the last keepalive gained.
  const [gained, setGained] = useState({ expiresAt, left });
  if (gained.expiresAt !== expiresAt) setGained({ expiresAt, left });
  // Without any time gained this clock is far ahead of the server's, and its countdown would be wrong.
  if (expiresAt === undefined || gained.left <= 0 || left >= Math.min(warnBelowMs, gained.left / 2))
    return null;
  return (
    <p className="expiry" role="alert">
      {/* Screen readers are not to read it out every second. */}
      This session will be saved and stopped in <strong aria-live="off">{countdownText(left)}</strong> unless
      Joypod hears from this page. Check your connection.
    </p>
  );
}

/** Asks whether the game is to be stopped. */
function StopDialog({
  title,
  onStop,
  onDismiss,
}: {
  title: string;
  onStop: () => void;
  onDismiss: () => void;
}) {
  return (
    <Dialog
      title={`Stop ${title}?`}
      onDismiss={onDismiss}
      actions={
        <>
          <button type="button" className="button button-primary" onClick={onStop}>
            Save and stop
          </button>
          <button type="button" className="button" onClick={onDismiss}>
            Keep playing
          </button>
        </>
      }
    >
      <p>
        The game closes and its save files are stored in your slot. What the game itself has not saved yet is
        lost.
      </p>
    </Dialog>
  );
}

/**
 * Takes the player's input while the game is in play, also between two connections: the stream drops it then,
 * but no key acts on the page, and what is held is known to the next connection.
 */
function useInputCapture(
  isInPlay: boolean,
  { surface, video, stream, display, onMenu }: InputCaptureParts,
): void {
  useEffect(() => {
    if (!isInPlay || stream === undefined || surface.current === null || video.current === null) return;
    const input = captureInput({
      surface: surface.current,
      video: video.current,
      send: (message) => stream.send(message),
      display: () => display.current,
      onMenu,
    });
    const stopListening = stream.on("notice", ({ t }) => {
      // The streamer has released everything: over a silence, or with the connection before the one that says
      // hello.
      if (t === "released" || t === "hello") input.pressAgain();
    });
    return () => {
      stopListening();
      input.stop();
    };
  }, [isInPlay, surface, video, stream, display, onMenu]);
}

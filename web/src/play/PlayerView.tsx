import { useCallback, useEffect, useRef, useState, type ReactNode, type RefObject } from "react";
import { useTranslation } from "react-i18next";
import type { GameSessionStatusResponse } from "#contracts/http/gameSessions.ts";
import { describeError } from "../client/apiError.ts";
import { Dialog } from "../components/Dialog.tsx";
import type { UnknownGamepad } from "../stream/gamepadCapture.ts";
import type { GameStream } from "../stream/gameStream.ts";
import { captureInput } from "../stream/inputCapture.ts";
import { menuChord } from "../stream/keyboardCapture.ts";
import { isPointerLocked, unlockPointer } from "../stream/pointerLock.ts";
import { isInPlay } from "../stream/streamState.ts";
import { Announcement } from "./Announcement.tsx";
import { EndingNotice, isFixed } from "./EndingNotice.tsx";
import { ExpiryWarning } from "./ExpiryWarning.tsx";
import type { Presence } from "./presence.ts";
import { PlayControls } from "./PlayControls.tsx";
import { PlayBrand } from "./PlayFrame.tsx";
import { StatisticsOverlay } from "./StatisticsOverlay.tsx";
import { StreamOverlay } from "./StreamOverlay.tsx";
import { useIsPointerLocked } from "./useDocumentFlag.ts";
import { useGamepadNotice } from "./useGamepadNotice.ts";
import type { GameSessionView } from "./useGameSession.ts";
import { useClickLock } from "./useClickLock.ts";
import type { GameStreamView } from "./useGameStream.ts";
import { useLeaveQuestion } from "./useLeaveQuestion.ts";
import { useSaveNow, type SaveNow } from "./useSaveNow.ts";
import { useVideoPlayback } from "./useVideoPlayback.ts";

interface InputCaptureParts {
  surface: RefObject<HTMLElement | null>;
  video: RefObject<HTMLVideoElement | null>;
  stream: GameStream | undefined;
  presence: Presence;
  locksOnClick: RefObject<boolean>;
  onMenu: () => void;
  onUnknownGamepad: (gamepad: UnknownGamepad) => void;
}

interface PlayerViewProps {
  /** Covers everything while the session starts; false once it runs. */
  launch: ReactNode;
  session: GameSessionStatusResponse;
  stream: GameStreamView;
  view: GameSessionView;
  presence: Presence;
  gameSlug: string | undefined;
}

/** The game's picture, which fills the window and takes the player's input, with the controls on top. */
export function PlayerView({
  launch,
  session,
  stream: { stream, state, media, hello, quality, isPointerHidden },
  view,
  presence,
  gameSlug,
}: PlayerViewProps) {
  const { t } = useTranslation("play");
  const root = useRef<HTMLElement>(null);
  const surface = useRef<HTMLDivElement>(null);
  const video = useRef<HTMLVideoElement>(null);
  const menu = useRef<HTMLDivElement>(null);
  const [isAsking, setIsAsking] = useState(false);
  const [hasStatistics, setHasStatistics] = useState(false);
  const isLocked = usePointerLock(state.phase);
  const clickLock = useClickLock(gameSlug ?? session.gameTitle, isPointerHidden, isLocked);
  const playback = useVideoPlayback(video, media);
  const saving = useSaveNow(session, gameSlug);
  const gamepadNotice = useGamepadNotice();
  const isLaunching = Boolean(launch);
  const showMenu = useFocusControls(menu, isLocked);
  const isPlaying = state.phase === "connected" && !isLaunching;

  useFocusWhilePlaying(surface, menu, isPlaying);
  useLeaveQuestion(isInPlay(state) && !isLaunching && session.status === "running");
  useInputCapture(isInPlay(state) && !isLaunching, {
    surface,
    video,
    stream,
    presence,
    locksOnClick: clickLock.isDue,
    onMenu: showMenu,
    onUnknownGamepad: gamepadNotice.show,
  });

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
        aria-label={t("surface", { title: session.gameTitle, chord: menuChord })}
        data-testid="game-surface"
        translate="no"
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
            clickLock={clickLock}
            hasStatistics={hasStatistics}
            quality={quality}
            send={(message) => stream?.send(message)}
            canSave={session.status === "running" && !saving.isSaving}
            onSave={saving.save}
            onStatistics={() => setHasStatistics((shown) => !shown)}
            onStop={() => {
              // Closing the dialog gives the focus back to the element that has it now.
              surface.current?.focus({ preventScroll: true });
              setIsAsking(true);
            }}
          />
          <Endings view={view} onConfirm={() => presence.note()} />
          {session.announcement !== undefined && <Announcement {...session.announcement} />}
          <Notices saving={saving} stopError={view.stopError} saveNotice={session.saveNotice} />
          <p className={gamepadNotice.text === undefined ? "visually-hidden" : "gamepad-word"} role="status">
            {gamepadNotice.text}
          </p>
          <p className={clickLock.isExplained ? "lock-word" : "visually-hidden"} role="status">
            {clickLock.isExplained && t("lockedByClick", { control: t("controls.lockOnClick") })}
          </p>
          {isAsking && (
            <StopDialog title={session.gameTitle} onStop={view.stop} onDismiss={() => setIsAsking(false)} />
          )}
        </>
      )}
    </main>
  );
}

/** Tells about the next end of the session that is known in advance. */
function Endings({
  view: { ending, expiresAt, isCutOff },
  onConfirm,
}: {
  view: GameSessionView;
  onConfirm: () => void;
}) {
  if (ending !== undefined && isFixed(ending)) return <EndingNotice ending={ending} />;
  // The operator may end a session without input before its keepalives run out.
  const idleAt =
    ending !== undefined && (expiresAt === undefined || ending.at < expiresAt) ? ending.at : expiresAt;
  return <ExpiryWarning expiresAt={idleAt} isCutOff={isCutOff} onConfirm={onConfirm} />;
}

/** The messages on top of the picture: the result of a requested save, and problems of the session. */
function Notices({
  saving: { notice },
  stopError,
  saveNotice,
}: {
  saving: SaveNow;
  stopError: Error | null;
  saveNotice: string | undefined;
}) {
  const { t } = useTranslation("play");
  return (
    <>
      <p className={notice?.isProblem === true ? "save-word save-word-problem" : "save-word"} role="status">
        {notice?.text}
      </p>
      <div className="player-warnings">
        {stopError !== null && (
          <p className="player-warning" role="alert">
            {t("stopFailed", { reason: describeError(stopError) })}
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
 * Returns a function that focuses the first button of the controls: at once, or when a locked pointer no
 * longer hides them. Browsers report a lock late, sometimes only after its end, so this reads the document
 * and not the last rendered state.
 */
function useFocusControls(menu: RefObject<HTMLElement | null>, isLocked: boolean): () => void {
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

/** Focuses the game once it plays, unless the focus is in the controls. */
function useFocusWhilePlaying(
  surface: RefObject<HTMLElement | null>,
  menu: RefObject<HTMLElement | null>,
  isPlaying: boolean,
): void {
  useEffect(() => {
    if (isPlaying && menu.current?.contains(document.activeElement) !== true)
      surface.current?.focus({ preventScroll: true });
  }, [isPlaying, surface, menu]);
}

/** Returns whether the pointer is locked. Unlocks it when the game has ended or the page shows buttons. */
function usePointerLock(phase: GameStreamView["state"]["phase"]): boolean {
  useEffect(() => {
    if (["occupied", "takenOver", "ended", "failed"].includes(phase)) unlockPointer();
  }, [phase]);
  return useIsPointerLocked();
}

/** Asks whether to stop the game. */
function StopDialog({
  title,
  onStop,
  onDismiss,
}: {
  title: string;
  onStop: () => void;
  onDismiss: () => void;
}) {
  const { t } = useTranslation("play");
  return (
    <Dialog
      title={t("stop.title", { title })}
      onDismiss={onDismiss}
      actions={
        <>
          <button type="button" className="button button-primary" onClick={onStop}>
            {t("stop.confirm")}
          </button>
          <button type="button" className="button" onClick={onDismiss}>
            {t("stop.dismiss")}
          </button>
        </>
      }
    >
      <p>{t("stop.text")}</p>
    </Dialog>
  );
}

/**
 * Captures the player's input while the game is in play, including the time between two connections: the
 * stream drops it then, but keys do not act on the page, and the next connection knows the held keys.
 */
function useInputCapture(
  isInPlay: boolean,
  { surface, video, stream, presence, locksOnClick, onMenu, onUnknownGamepad }: InputCaptureParts,
): void {
  useEffect(() => {
    if (!isInPlay || stream === undefined || surface.current === null || video.current === null) return;
    const input = captureInput({
      surface: surface.current,
      video: video.current,
      send: (message) => {
        presence.noteInput(message);
        stream.send(message);
      },
      locksOnClick: () => locksOnClick.current,
      onMenu,
      onUnknownGamepad,
    });
    const stopListening = stream.on("notice", (notice) => {
      // The streamer has released all keys: after a silence, or at the end of the connection before this one.
      if (notice.t === "released" || notice.t === "hello") input.pressAgain();
      if (notice.t === "rumble") input.rumble(notice);
    });
    return () => {
      stopListening();
      input.stop();
    };
  }, [isInPlay, surface, video, stream, presence, locksOnClick, onMenu, onUnknownGamepad]);
}

import { useEffect, useState, type RefObject, useRef } from "react";
import { Link } from "react-router";
import type { QualityRequest } from "#contracts/streamQuality.ts";
import { Icon, type IconName } from "../components/Icon.tsx";
import { canEnterFullscreen, enterFullscreen, leaveFullscreen } from "../stream/fullscreen.ts";
import { menuChord } from "../stream/keyboardCapture.ts";
import { canLockPointer, lockPointer } from "../stream/pointerLock.ts";
import { useIsFullscreen } from "./useDocumentFlag.ts";
import type { HeldQuality } from "./useGameStream.ts";
import type { VideoPlayback } from "./useVideoPlayback.ts";
import { QualityForm } from "../quality/QualityForm.tsx";
import { nextSizeLine, qualityLine } from "../quality/qualityText.ts";
import { useKeepQuality, useQualityChoice } from "../quality/useQualityChoice.ts";

/** The bar stays open for this long after the game appears, so that the player sees where it is. */
const introMs = 4_000;
/** What did not work is said, in view, for this long. */
const problemMs = 6_000;

interface PlayControlsProps {
  /** The bar with its menus; the keyboard chord focuses its first button. */
  menuRef: RefObject<HTMLDivElement | null>;
  root: RefObject<HTMLElement | null>;
  surface: RefObject<HTMLElement | null>;
  title: string;
  isHidden: boolean;
  playback: VideoPlayback;
  hasStatistics: boolean;
  /** Undefined while it is not known, and of streamers that cannot change it. */
  quality: HeldQuality | undefined;
  onQuality: (wish: QualityRequest) => void;
  /** False while the game does not run, or is just being saved. */
  canSave: boolean;
  onSave: () => void;
  onStatistics: () => void;
  onStop: () => void;
}

/**
 * The bar of controls at the top edge. It opens when the pointer is at the edge or the keyboard focus is in
 * it.
 */
export function PlayControls({
  menuRef,
  root,
  surface,
  title,
  isHidden,
  playback,
  hasStatistics,
  quality,
  onQuality,
  canSave,
  onSave,
  onStatistics,
  onStop,
}: PlayControlsProps) {
  const isFullscreen = useIsFullscreen();
  const isIntro = useIntro();
  const [isChoosing, setIsChoosing] = useState(false);
  const [problem, setProblem] = useProblem();
  /** Runs a control's action and gives the focus back to the game. */
  const attempt = (action: Promise<void>, failure: string): void => {
    action.then(
      () => setProblem(undefined),
      () => setProblem(failure),
    );
    surface.current?.focus({ preventScroll: true });
  };
  const toggleFullscreen = (): void =>
    attempt(
      isFullscreen ? leaveFullscreen() : enterFullscreen(root.current),
      "This browser does not allow full screen here.",
    );
  const lock = (): void => {
    if (surface.current !== null)
      attempt(lockPointer(surface.current), "The pointer cannot be locked right now. Try again in a second.");
  };
  const leaveQuality = (): void => {
    setIsChoosing(false);
    surface.current?.focus({ preventScroll: true });
  };
  return (
    <div
      ref={menuRef}
      className={`controls${isIntro || playback.isSoundBlocked || problem !== undefined ? " controls-open" : ""}`}
      hidden={isHidden}
      role="toolbar"
      // Safari focuses no button that is clicked, but what is around it: the focus stays in here.
      tabIndex={-1}
      aria-label="Game controls"
      onBlur={({ relatedTarget, currentTarget }) => {
        if (!currentTarget.contains(relatedTarget)) setIsChoosing(false); // The player went back to the game.
      }}
    >
      <div className="controls-bar">
        <Link className="control" to="/" title="All games (the game keeps running)" aria-label="All games">
          <Icon name="back" />
        </Link>
        <span className="controls-title">{title}</span>
        {canEnterFullscreen() && (
          <Control
            icon={isFullscreen ? "shrink" : "expand"}
            name={isFullscreen ? "Leave full screen" : "Full screen"}
            onClick={toggleFullscreen}
          />
        )}
        {canLockPointer() && (
          <Control
            icon="pointer"
            name="Lock pointer"
            hint="For games that turn the view with the mouse; Escape frees it"
            onClick={lock}
          />
        )}
        <Control
          icon={playback.isMuted ? "muted" : "sound"}
          name={playback.isMuted ? "Unmute" : "Mute"}
          onClick={() => {
            playback.toggleMuted();
            surface.current?.focus({ preventScroll: true });
          }}
        />
        <Control
          icon="chart"
          name="Statistics"
          isPressed={hasStatistics}
          onClick={() => {
            onStatistics();
            surface.current?.focus({ preventScroll: true });
          }}
        />
        {quality !== undefined && (
          <Control
            icon="sliders"
            name="Quality"
            isExpanded={isChoosing}
            onClick={() => (isChoosing ? leaveQuality() : setIsChoosing(true))}
          />
        )}
        <Control
          icon="save"
          name="Save now"
          hint="Keeps the save files of this moment in the slot's history"
          isDisabled={!canSave}
          onClick={() => {
            onSave();
            surface.current?.focus({ preventScroll: true });
          }}
        />
        <Control icon="stop" name="Stop" isDanger onClick={onStop} />
        <span className="controls-chord">{menuChord}</span>
      </div>
      {isChoosing && quality !== undefined && (
        <QualityMenu held={quality} onWish={onQuality} onClose={leaveQuality} />
      )}
      {/* There from the beginning: what changes in it is read out. */}
      <p className={playback.isSoundBlocked ? "controls-note" : "visually-hidden"} role="status">
        {playback.isSoundBlocked && "Press any key or click to hear the game."}
      </p>
      {problem !== undefined && (
        <p className="controls-note" role="alert">
          {problem}
        </p>
      )}
      <span className="controls-handle" aria-hidden="true" />
    </div>
  );
}

function Control({
  icon,
  name,
  hint,
  isPressed,
  isExpanded,
  isDisabled = false,
  isDanger = false,
  onClick,
}: {
  icon: IconName;
  name: string;
  hint?: string;
  isPressed?: boolean;
  isExpanded?: boolean;
  isDisabled?: boolean;
  isDanger?: boolean;
  onClick: () => void;
}) {
  return (
    <button
      type="button"
      className={isDanger ? "control control-danger" : "control"}
      aria-label={name}
      title={hint ?? name}
      aria-pressed={isPressed}
      aria-expanded={isExpanded}
      disabled={isDisabled}
      onClick={onClick}
    >
      <Icon name={icon} />
    </button>
  );
}

/** What did not work, for as long as it is worth saying. */
function useProblem(): [string | undefined, (problem: string | undefined) => void] {
  const [problem, setProblem] = useState<string>();
  useEffect(() => {
    if (problem === undefined) return undefined;
    const timer = setTimeout(() => setProblem(undefined), problemMs);
    return () => clearTimeout(timer);
  }, [problem]);
  return [problem, setProblem];
}

function useIntro(): boolean {
  const [isIntro, setIsIntro] = useState(true);
  useEffect(() => {
    const timer = setTimeout(() => setIsIntro(false), introMs);
    return () => clearTimeout(timer);
  }, []);
  return isIntro;
}

/**
 * Changes the quality of the stream that is played, and keeps the choice for the next game. Escape closes it.
 */
function QualityMenu({
  held,
  onWish,
  onClose,
}: {
  held: HeldQuality;
  onWish: (quality: QualityRequest) => void;
  onClose: () => void;
}) {
  const menu = useRef<HTMLDivElement>(null);
  const choice = useQualityChoice();
  const keeping = useKeepQuality();
  useEffect(() => {
    menu.current?.querySelector<HTMLInputElement>("input:checked")?.focus();
  }, []);
  const [wished, setWished] = useState<QualityRequest>();
  const kept = choice.data?.quality ?? {};
  // This session may have been launched with another one than is kept.
  const value = wished ?? ((kept.preset ?? "auto") === held.preset ? kept : { preset: held.preset });
  const nextSize = choice.data && nextSizeLine(value, held.maximum, choice.data.maximum);
  return (
    <div
      ref={menu}
      className="controls-panel"
      role="group"
      tabIndex={-1} // So that a click between the choices leaves the focus in the menu.
      aria-label="Quality of the picture"
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.stopPropagation();
        onClose();
      }}
    >
      <QualityForm
        value={value}
        maximum={held.maximum}
        onChange={(quality) => {
          setWished(quality);
          onWish(quality);
          keeping.mutate(quality);
        }}
      />
      <p className="quality-now" role="status" data-testid="quality-now">
        {qualityLine(held)}
        {nextSize !== undefined && (
          <>
            <br />
            {nextSize}
          </>
        )}
      </p>
      {keeping.isError && <p role="alert">This could not be kept for your next game.</p>}
    </div>
  );
}

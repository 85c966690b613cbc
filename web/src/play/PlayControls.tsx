import { useEffect, useState, type RefObject, useRef } from "react";
import { useTranslation } from "react-i18next";
import { Link } from "react-router";
import type { StreamInput } from "#contracts/stream.ts";
import type { QualityRequest } from "#contracts/streamQuality.ts";
import { Icon, type IconName } from "../components/Icon.tsx";
import { QualityForm } from "../quality/QualityForm.tsx";
import { describeNextSize, describeQuality } from "../quality/qualityText.ts";
import { useKeepQuality, useQualityChoice } from "../quality/useQualityChoice.ts";
import { canEnterFullscreen, enterFullscreen, leaveFullscreen } from "../stream/fullscreen.ts";
import { menuChord } from "../stream/keyboardCapture.ts";
import { canLockPointer, lockPointer } from "../stream/pointerLock.ts";
import { ControlBar } from "./ControlBar.tsx";
import { TextPanel } from "./TextPanel.tsx";
import type { ClickLock } from "./useClickLock.ts";
import { useIsFullscreen } from "./useDocumentFlag.ts";
import type { HeldQuality } from "./useGameStream.ts";
import type { VideoPlayback } from "./useVideoPlayback.ts";

/** The bar stays open for this long after the game appears, so that the player notices it. */
const introMs = 4_000;
/** A failed action is reported for this long. */
const problemMs = 6_000;

interface PlayControlsProps {
  /** The bar with its menus; the keyboard chord focuses its first button. */
  menuRef: RefObject<HTMLDivElement | null>;
  root: RefObject<HTMLElement | null>;
  surface: RefObject<HTMLElement | null>;
  title: string;
  isHidden: boolean;
  playback: VideoPlayback;
  clickLock: ClickLock;
  hasStatistics: boolean;
  /** Undefined until it is known, and for streamers that cannot change it. */
  quality: HeldQuality | undefined;
  /** Sends a message to the streamer. */
  send: (message: StreamInput) => void;
  /** False while the game is not running or is being saved. */
  canSave: boolean;
  onSave: () => void;
  onStatistics: () => void;
  onStop: () => void;
}

/** The controls of the play page, in a bar at the top edge. */
export function PlayControls({
  menuRef,
  root,
  surface,
  title,
  isHidden,
  playback,
  clickLock,
  hasStatistics,
  quality,
  send,
  canSave,
  onSave,
  onStatistics,
  onStop,
}: PlayControlsProps) {
  const { t } = useTranslation(["play", "common"]);
  const isFullscreen = useIsFullscreen();
  const isIntro = useIntro();
  const [panel, setPanel] = useState<"quality" | "text">();
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
    attempt(isFullscreen ? leaveFullscreen() : enterFullscreen(root.current), t("controls.fullScreenFailed"));
  const lock = (): void => {
    if (surface.current !== null) attempt(lockPointer(surface.current), t("controls.lockPointerFailed"));
  };
  const leavePanel = (): void => {
    setPanel(undefined);
    surface.current?.focus({ preventScroll: true });
  };
  return (
    <ControlBar
      bar={menuRef}
      isHidden={isHidden}
      isNeeded={isIntro || playback.isSoundBlocked || problem !== undefined}
      onReturn={() => surface.current?.focus({ preventScroll: true })}
      onLeave={() => setPanel(undefined)}
    >
      <div className="controls-bar">
        <Link className="control" to="/" title={t("controls.allGamesHint")} aria-label={t("common:allGames")}>
          <Icon name="back" />
        </Link>
        <span className="controls-title">{title}</span>
        {canEnterFullscreen() && (
          <Control
            icon={isFullscreen ? "shrink" : "expand"}
            name={isFullscreen ? t("controls.leaveFullScreen") : t("controls.fullScreen")}
            onClick={toggleFullscreen}
          />
        )}
        {canLockPointer() && (
          <Control
            icon="pointer"
            name={t("controls.lockPointer")}
            hint={t("controls.lockPointerHint")}
            onClick={lock}
          />
        )}
        {clickLock.isOffered && (
          <Control
            icon="pointer"
            name={t("controls.lockOnClick")}
            hint={t("controls.lockOnClickHint")}
            isPressed={clickLock.isAllowed}
            onClick={() => {
              clickLock.toggle();
              surface.current?.focus({ preventScroll: true });
            }}
          />
        )}
        <Control
          icon={playback.isMuted ? "muted" : "sound"}
          name={playback.isMuted ? t("controls.unmute") : t("controls.mute")}
          onClick={() => {
            playback.toggleMuted();
            surface.current?.focus({ preventScroll: true });
          }}
        />
        <Control
          icon="chart"
          name={t("controls.statistics")}
          isPressed={hasStatistics}
          onClick={() => {
            onStatistics();
            surface.current?.focus({ preventScroll: true });
          }}
        />
        {quality !== undefined && (
          <Control
            icon="sliders"
            name={t("controls.quality")}
            isExpanded={panel === "quality"}
            onClick={() => (panel === "quality" ? leavePanel() : setPanel("quality"))}
          />
        )}
        <Control
          icon="keyboard"
          name={t("controls.typeText")}
          hint={t("controls.typeTextHint")}
          isExpanded={panel === "text"}
          onClick={() => (panel === "text" ? leavePanel() : setPanel("text"))}
        />
        <Control
          icon="save"
          name={t("controls.saveNow")}
          hint={t("controls.saveNowHint")}
          isDisabled={!canSave}
          onClick={() => {
            onSave();
            surface.current?.focus({ preventScroll: true });
          }}
        />
        <Control icon="stop" name={t("controls.stop")} isDanger onClick={onStop} />
        <span className="controls-chord" translate="no">
          {menuChord}
        </span>
      </div>
      {panel === "quality" && quality !== undefined && (
        <QualityMenu held={quality} onWish={(wish) => send({ t: "quality", ...wish })} onClose={leavePanel} />
      )}
      {panel === "text" && <TextPanel send={send} onClose={leavePanel} />}
      <ControlNotes isSoundBlocked={playback.isSoundBlocked} problem={problem} />
    </ControlBar>
  );
}

/** What the controls tell the player. */
function ControlNotes({ isSoundBlocked, problem }: { isSoundBlocked: boolean; problem: string | undefined }) {
  const { t } = useTranslation("play");
  return (
    <>
      {/* Always on the page, because screen readers read out only changes in an existing region. */}
      <p className={isSoundBlocked ? "controls-note" : "visually-hidden"} role="status">
        {isSoundBlocked && t("controls.soundBlocked")}
      </p>
      {problem !== undefined && (
        <p className="controls-note" role="alert">
          {problem}
        </p>
      )}
    </>
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

/** Returns the last failure for a few seconds, and the function that sets it. */
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
 * Changes the quality of the running stream, and saves the choice for the next game. Escape closes the menu.
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
  const { t } = useTranslation(["play", "quality"]);
  const menu = useRef<HTMLDivElement>(null);
  const choice = useQualityChoice();
  const keeping = useKeepQuality();
  useEffect(() => {
    menu.current?.querySelector<HTMLInputElement>("input:checked")?.focus();
  }, []);
  const [wished, setWished] = useState<QualityRequest>();
  const kept = choice.data?.quality ?? {};
  // This session may have another preset than the saved choice.
  const value = wished ?? ((kept.preset ?? "auto") === held.preset ? kept : { preset: held.preset });
  const nextSize = choice.data && describeNextSize(value, held.maximum, choice.data.maximum);
  return (
    <div
      ref={menu}
      className="controls-panel"
      role="group"
      tabIndex={-1} // A click between the choices leaves the focus in the menu.
      aria-label={t("quality:legend")}
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
        {describeQuality(held)}
        {nextSize !== undefined && (
          <>
            <br />
            {nextSize}
          </>
        )}
      </p>
      {keeping.isError && <p role="alert">{t("controls.qualityNotSaved")}</p>}
    </div>
  );
}

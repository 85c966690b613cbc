import { useEffect, useRef, useState, type ReactNode, type RefObject } from "react";
import { useTranslation } from "react-i18next";
import { menuChord } from "../stream/keyboardCapture.ts";
import { BarOpener, type BarAreas, type BarState } from "./barOpener.ts";

interface ControlBarProps {
  bar: RefObject<HTMLDivElement | null>;
  isHidden: boolean;
  /** Whether the bar has something to tell, and is open in any case. */
  isNeeded: boolean;
  /** Gives the focus back to the game. */
  onReturn: () => void;
  /** Called when the focus leaves the bar. */
  onLeave: () => void;
  children: ReactNode;
}

/**
 * The frame of the controls at the top edge. It opens by its handle, when the pointer rests at the very edge,
 * or when the focus is in it. While it is closed, only the handle covers the game.
 */
export function ControlBar({ bar, isHidden, isNeeded, onReturn, onLeave, children }: ControlBarProps) {
  const { t } = useTranslation("play");
  const handle = useRef<HTMLButtonElement>(null);
  const opener = useBarOpener(bar, handle, isHidden);
  return (
    <div
      ref={bar}
      className={barClass(opener.state, isNeeded)}
      hidden={isHidden}
      role="toolbar"
      // Safari focuses the element around a clicked button: this keeps the focus inside the bar.
      tabIndex={-1}
      aria-label={t("controls.label")}
      onMouseDown={(event) => {
        // A click just after the pointer on the handle has opened the bar leaves the focus in the game.
        if (opener.state === "openingAtHandle") event.preventDefault();
      }}
      onBlur={({ relatedTarget, currentTarget }) => {
        if (!currentTarget.contains(relatedTarget)) onLeave();
      }}
    >
      {children}
      <button
        ref={handle}
        type="button"
        className="controls-handle"
        tabIndex={-1}
        aria-label={t("controls.handle")}
        title={t("controls.handleHint", { chord: menuChord })}
        onClick={() => {
          opener.toggle();
          onReturn();
        }}
      />
    </div>
  );
}

/** Returns the class names of the bar. */
function barClass(state: BarState, isNeeded: boolean): string {
  if (isNeeded || state === "open") return "controls controls-open";
  if (state === "openingAtEdge") return "controls controls-opening";
  return state === "openingAtHandle" ? "controls controls-opening controls-cover" : "controls";
}

/**
 * Returns whether the pointer has opened the bar, and the function of its handle. While the bar is hidden it
 * stays closed.
 */
function useBarOpener(
  bar: RefObject<HTMLElement | null>,
  handle: RefObject<HTMLElement | null>,
  isHidden: boolean,
): { state: BarState; toggle: () => void } {
  const [state, setState] = useState<BarState>("closed");
  const [opener] = useState(
    () => new BarOpener(setState, () => findAreas(bar.current, handle.current), delayByTimer),
  );
  useEffect(() => {
    if (isHidden) return undefined;
    const listening = new AbortController();
    const options = { capture: true, signal: listening.signal };
    window.addEventListener("pointermove", (event) => opener.move(event), options);
    window.addEventListener("pointerdown", (event) => opener.press(event), options);
    // Without capture: it would also read the leaving of each element on the page.
    document.documentElement.addEventListener("mouseleave", () => opener.leave(), { signal: options.signal });
    return () => {
      listening.abort();
      opener.close();
    };
  }, [opener, isHidden]);
  return { state, toggle: () => opener.toggle() };
}

function findAreas(bar: HTMLElement | null, handle: HTMLElement | null): BarAreas | undefined {
  if (bar === null || handle === null) return undefined;
  return { bar: bar.getBoundingClientRect(), handle: handle.getBoundingClientRect() };
}

function delayByTimer(ms: number, callback: () => void): () => void {
  const timer = setTimeout(callback, ms);
  return () => clearTimeout(timer);
}

import { useEffect, useState, type RefObject } from "react";
import { BarOpener, type BarAreas, type BarState } from "./barOpener.ts";

/**
 * Returns whether the pointer has opened the bar, and the function of its handle. While the bar is hidden it
 * stays closed.
 */
export function useBarOpener(
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
    document.documentElement.addEventListener("mouseleave", () => opener.leave(), options);
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

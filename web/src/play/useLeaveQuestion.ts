import { useEffect } from "react";
import { isReloading } from "../client/reloadForRelease.ts";

/**
 * Lets the browser ask before the page closes, reloads or shows another site while `isPlaying`: Ctrl+W and
 * other shortcuts of browsers are also keys of games. The page's own links and buttons do not ask.
 */
export function useLeaveQuestion(isPlaying: boolean): void {
  useEffect(() => {
    if (!isPlaying) return undefined;
    const ask = (event: BeforeUnloadEvent): void => {
      if (isReloading()) return;
      event.preventDefault();
      // Chromium before 119 reads this instead.
      Object.assign(event, { returnValue: true });
    };
    window.addEventListener("beforeunload", ask);
    return () => window.removeEventListener("beforeunload", ask);
  }, [isPlaying]);
}

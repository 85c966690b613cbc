import { useEffect, useState, type RefObject } from "react";

export interface VideoPlayback {
  /** A decoded frame of the present connection is in the video element. */
  hasPicture: boolean;
  isMuted: boolean;
  /** The browser allows sound only after the player did something on this page. */
  isSoundBlocked: boolean;
  toggleMuted: () => void;
}

/** Plays `media` in the video element, with sound as soon as the browser allows it. */
export function useVideoPlayback(video: RefObject<HTMLVideoElement | null>, media: MediaStream | undefined): VideoPlayback {
  const [hasPicture, setHasPicture] = useState(false);
  const [isMuted, setIsMuted] = useState(false);
  const [isSoundBlocked, setIsSoundBlocked] = useState(false);

  useEffect(() => {
    const element = video.current;
    if (element === null || media === undefined) return;
    let isOver = false;
    setHasPicture(false);
    element.srcObject = media;
    startPlaying(element).then((isBlocked) => !isOver && setIsSoundBlocked(isBlocked), () => undefined);
    whenFirstFrame(element, () => {
      if (!isOver) setHasPicture(true);
    });
    return () => {
      isOver = true;
      element.srcObject = null;
    };
  }, [video, media]);

  useEffect(() => {
    const element = video.current;
    if (element === null) return;
    element.muted = isMuted || isSoundBlocked;
    if (!isSoundBlocked) return;
    const unblock = (): void => setIsSoundBlocked(false);
    window.addEventListener("pointerdown", unblock, { once: true });
    window.addEventListener("keydown", unblock, { once: true });
    return () => {
      window.removeEventListener("pointerdown", unblock);
      window.removeEventListener("keydown", unblock);
    };
  }, [video, isMuted, isSoundBlocked]);

  return { hasPicture, isMuted, isSoundBlocked, toggleMuted: () => setIsMuted((muted) => !muted) };
}

/** Plays with sound, or silently where the browser does not allow that yet; returns whether sound is blocked. */
async function startPlaying(element: HTMLVideoElement): Promise<boolean> {
  try {
    await element.play();
    return false;
  } catch (error) {
    if (!(error instanceof DOMException) || error.name !== "NotAllowedError") throw error;
    element.muted = true;
    await element.play();
    return true;
  }
}

function whenFirstFrame(element: HTMLVideoElement, then: () => void): void {
  if ("requestVideoFrameCallback" in element) element.requestVideoFrameCallback(then);
  else (element as HTMLMediaElement).addEventListener("loadeddata", then, { once: true }); // Firefox before 132.
}

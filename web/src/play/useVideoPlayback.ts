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
    startPlaying(element, () => setIsSoundBlocked(true)).catch(() => undefined); // The picture of another connection took its place.
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
    const stopped = new AbortController();
    const unblock = (): void => {
      // Escape, and a touch that has only begun, are no wish to browsers: sound would pause the picture.
      if ("userActivation" in navigator && !navigator.userActivation.hasBeenActive) return;
      element.muted = isMuted;
      startPlaying(element, () => undefined).then((isSilent) => {
        if (!isSilent && !stopped.signal.aborted) setIsSoundBlocked(false);
      }).catch(() => undefined); // The next thing that the player does is another try.
    };
    for (const event of ["pointerdown", "pointerup", "keydown"] as const) window.addEventListener(event, unblock, { signal: stopped.signal });
    return () => stopped.abort();
  }, [video, isMuted, isSoundBlocked]);

  return { hasPicture, isMuted, isSoundBlocked, toggleMuted: () => setIsMuted((muted) => !muted) };
}

/**
 * Plays with sound, or silently where the browser does not allow sound yet. `onSoundBlocked` is called before the silent attempt, because a video
 * that plays silently says nothing of sound. Only an act of the player ends the silence. Resolves with whether it plays silently.
 */
async function startPlaying(element: HTMLVideoElement, onSoundBlocked: () => void): Promise<boolean> {
  try {
    await element.play();
    return false;
  } catch (error) {
    if (!(error instanceof DOMException) || error.name !== "NotAllowedError") throw error;
    onSoundBlocked();
    element.muted = true;
    await element.play();
    return true;
  }
}

function whenFirstFrame(element: HTMLVideoElement, then: () => void): void {
  if ("requestVideoFrameCallback" in element) element.requestVideoFrameCallback(then);
  else (element as HTMLMediaElement).addEventListener("loadeddata", then, { once: true }); // Firefox before 132.
}

import { useEffect, useState, type RefObject } from "react";

/** How often, at most, a browser that pauses the picture again and again is made to go on. */
const resumeEveryMs = 1_000;

export interface VideoPlayback {
  /** A decoded frame of the present connection is in the video element. */
  hasPicture: boolean;
  isMuted: boolean;
  /**
   * The browser allows sound only after the player did something on this page, or has just taken the sound
   * away.
   */
  isSoundBlocked: boolean;
  toggleMuted: () => void;
}

/** Plays `media` in the video element, with sound as soon as the browser allows it. */
export function useVideoPlayback(
  video: RefObject<HTMLVideoElement | null>,
  media: MediaStream | undefined,
): VideoPlayback {
  const [hasPicture, setHasPicture] = useState(false);
  const [isMuted, setIsMuted] = useState(false);
  const [isSoundBlocked, setIsSoundBlocked] = useState(false);

  useEffect(() => {
    const element = video.current;
    if (element === null || media === undefined) return;
    let isOver = false;
    setHasPicture(false);
    element.srcObject = media;
    const blockSound = (): void => setIsSoundBlocked(true);
    // The picture of another connection took its place.
    startPlaying(element, blockSound).catch(() => undefined);
    const stopResuming = resumePaused(element, media, blockSound);
    whenFirstFrame(element, () => {
      if (!isOver) setHasPicture(true);
    });
    return () => {
      isOver = true;
      stopResuming();
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
      startPlaying(element, () => undefined)
        .then((isSilent) => {
          if (!isSilent && !stopped.signal.aborted) setIsSoundBlocked(false);
        })
        .catch(() => undefined); // The next thing that the player does is another try.
    };
    for (const event of ["pointerdown", "pointerup", "keydown"] as const)
      window.addEventListener(event, unblock, { signal: stopped.signal });
    return () => stopped.abort();
  }, [video, isMuted, isSoundBlocked]);

  return { hasPicture, isMuted, isSoundBlocked, toggleMuted: () => setIsMuted((muted) => !muted) };
}

/**
 * Plays with sound, or silently where the browser does not allow sound yet. `onSoundBlocked` is called before
 * the silent attempt, because a video that plays silently says nothing of sound. Only an act of the player
 * ends the silence. Resolves with whether it plays silently.
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

/**
 * Resumes a picture that the browser paused, such as for a call, for another program's sound or when
 * headphones are unplugged. It resumes muted, so that the sound stays where the browser wants it until the
 * player acts on this page. Runs until the returned function is called.
 */
function resumePaused(element: HTMLVideoElement, media: MediaStream, onSoundBlocked: () => void): () => void {
  const stopped = new AbortController();
  let triedAt = -Infinity;
  let next: ReturnType<typeof setTimeout> | undefined;
  const resume = (): void => {
    clearTimeout(next);
    // Browsers also pause a stream that has ended and an element that was removed from the page.
    if (!element.paused || !media.active || !element.isConnected) return;
    const waitMs = triedAt + resumeEveryMs - performance.now();
    if (document.hidden || waitMs > 0) {
      // A hidden page waits until it is visible again; not every browser reports that with an event.
      next = setTimeout(resume, document.hidden ? resumeEveryMs : waitMs);
      return;
    }
    triedAt = performance.now();
    if (!element.muted) onSoundBlocked();
    element.muted = true;
    // Playing fails when the browser pauses again, or wants the player to act first.
    startPlaying(element, onSoundBlocked).catch(() => undefined);
  };
  element.addEventListener("pause", resume, { signal: stopped.signal });
  document.addEventListener("visibilitychange", resume, { signal: stopped.signal });
  return () => {
    stopped.abort();
    clearTimeout(next);
  };
}

function whenFirstFrame(element: HTMLVideoElement, then: () => void): void {
  if ("requestVideoFrameCallback" in element) element.requestVideoFrameCallback(then);
  else (element as HTMLMediaElement).addEventListener("loadeddata", then, { once: true }); // Firefox before 132.
}

import { useEffect, useState, type RefObject } from "react";

/** Shortest pause between two attempts to resume a picture that the browser keeps pausing. */
const resumeEveryMs = 1_000;

export interface VideoPlayback {
  /** The video element shows a decoded frame of the current connection. */
  hasPicture: boolean;
  isMuted: boolean;
  /**
   * The browser allows sound only after an action of the player on this page, or has just muted the sound.
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
    // Fails when another connection replaces the picture.
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
      // Browsers do not count Escape or the start of a touch as an action: sound would pause the picture.
      if ("userActivation" in navigator && !navigator.userActivation.hasBeenActive) return;
      element.muted = isMuted;
      startPlaying(element, () => undefined)
        .then((isSilent) => {
          if (!isSilent && !stopped.signal.aborted) setIsSoundBlocked(false);
        })
        .catch(() => undefined); // The next action is another attempt.
    };
    for (const event of ["pointerdown", "pointerup", "keydown"] as const)
      window.addEventListener(event, unblock, { signal: stopped.signal });
    return () => stopped.abort();
  }, [video, isMuted, isSoundBlocked]);

  return { hasPicture, isMuted, isSoundBlocked, toggleMuted: () => setIsMuted((muted) => !muted) };
}

/**
 * Plays with sound, or muted if the browser does not allow sound yet. Calls `onSoundBlocked` before the muted
 * attempt. Only an action of the player ends the silence. Resolves with whether it plays muted.
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

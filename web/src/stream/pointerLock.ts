/** The pointer lock of a document, which browsers of phones and tablets do not have. */
interface LockDocument {
  readonly pointerLockElement?: object | null;
  exitPointerLock?: () => void;
}

/** Returns whether this browser can lock the pointer. */
export function canLockPointer(): boolean {
  return "requestPointerLock" in Element.prototype;
}

/** Returns whether the pointer is locked to an element of the page. */
export function isPointerLocked(page: LockDocument = document): boolean {
  return (page.pointerLockElement ?? null) !== null;
}

/** Whether this page has ended the lock, so that the player has not. */
let isEndedByPage = false;

/** Unlocks the pointer if it is locked. */
export function unlockPointer(page: LockDocument = document): void {
  isEndedByPage = isPointerLocked(page);
  page.exitPointerLock?.();
}

/**
 * Requests the pointer lock for the element, with unaccelerated movement where the browser supports that;
 * `pointerlockchange` fires when it is granted. Rejects when the browser refuses, such as right after the
 * player left the lock.
 */
export async function lockPointer(element: HTMLElement): Promise<void> {
  try {
    await element.requestPointerLock({ unadjustedMovement: true });
  } catch (error) {
    if (!(error instanceof DOMException) || error.name !== "NotSupportedError") throw error;
    await element.requestPointerLock();
  }
}

/** Browsers refuse a new lock for a little more than a second after the player has left one. */
const retryMs = 1_500;

/**
 * Requests the pointer lock for a click on the element, and once more if the browser refuses it.
 * `isStillWanted` is asked before the second request.
 */
export async function lockOnClick(element: HTMLElement, isStillWanted: () => boolean): Promise<void> {
  try {
    await lockPointer(element);
  } catch {
    await new Promise((resolve) => setTimeout(resolve, retryMs));
    // The next click is another attempt.
    if (isStillWanted() && !isPointerLocked()) await lockPointer(element).catch(() => undefined);
  }
}

/** Time in which a page learns that the lock ended because its window lost the focus. */
const focusLossMs = 60;

/**
 * Calls `onEscape` when the player left the lock with Escape, which browsers do not report as a key. Runs
 * until the signal is aborted.
 */
export function watchLockEscape(onEscape: () => void, signal: AbortSignal): void {
  let wasLocked = isPointerLocked();
  /** In full screen, Chromium reports Escape as a key, and ends the lock when it is held. */
  let isEscapeHeard = false;
  for (const name of ["keydown", "keyup"] as const)
    window.addEventListener(
      name,
      ({ code }) => {
        if (code === "Escape") isEscapeHeard = name === "keydown";
      },
      { signal, capture: true },
    );
  document.addEventListener(
    "pointerlockchange",
    () => {
      const hasEnded = wasLocked && !isPointerLocked();
      wasLocked = isPointerLocked();
      const isByPage = isEndedByPage;
      isEndedByPage = false;
      if (wasLocked) isEscapeHeard = false;
      if (!hasEnded || isByPage || isEscapeHeard) return;
      setTimeout(() => {
        if (!signal.aborted && document.hasFocus() && !document.hidden && !isEscapeHeard) onEscape();
      }, focusLossMs);
    },
    { signal },
  );
}

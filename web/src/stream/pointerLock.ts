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

/** Unlocks the pointer if it is locked. */
export function unlockPointer(page: LockDocument = document): void {
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

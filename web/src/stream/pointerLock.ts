/**
 * Locks the pointer to the element, with unaccelerated movement where the browser has that. Resolves when asked for;
 * `pointerlockchange` tells when it is so. Rejects when the browser refuses, such as right after the player left the lock.
 */
export async function lockPointer(element: HTMLElement): Promise<void> {
  try {
    await element.requestPointerLock({ unadjustedMovement: true });
  } catch (error) {
    if (!(error instanceof DOMException) || error.name !== "NotSupportedError") throw error;
    await element.requestPointerLock();
  }
}

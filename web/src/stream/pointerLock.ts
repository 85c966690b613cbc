/**
 * Requests the pointer lock for the element, with unaccelerated movement where the browser supports that; `pointerlockchange`
 * fires when it is granted. Rejects when the browser refuses, such as right after the player left the lock.
 */
export async function lockPointer(element: HTMLElement): Promise<void> {
  try {
    await element.requestPointerLock({ unadjustedMovement: true });
  } catch (error) {
    if (!(error instanceof DOMException) || error.name !== "NotSupportedError") throw error;
    await element.requestPointerLock();
  }
}

/**
 * Chromium's keyboard lock: in full screen, Escape and the browser's own keys reach the game; holding Escape
 * leaves full screen.
 */
interface KeyboardLock {
  lock: (codes?: string[]) => Promise<void>;
  unlock: () => void;
}

/** Returns whether this browser can show elements full screen. Those of phones may support only videos. */
export function canEnterFullscreen(): boolean {
  return "requestFullscreen" in Element.prototype;
}

/** Returns whether the page is shown full screen. */
export function isFullscreen(page: { readonly fullscreenElement?: object | null } = document): boolean {
  return (page.fullscreenElement ?? null) !== null;
}

/** The options of full screen, with the keyboard lock of Firefox and Safari, which types do not have yet. */
const fullscreenOptions: FullscreenOptions & { keyboardLock: "browser" } = {
  navigationUI: "hide",
  keyboardLock: "browser",
};

/** Shows the element full screen. Rejects when the browser refuses. */
export async function enterFullscreen(element: HTMLElement | null): Promise<void> {
  if (element === null) return;
  await element.requestFullscreen(fullscreenOptions);
  // Games use Escape, Alt+Tab and Ctrl+W. Without the lock, the browser and the system take them.
  await keyboardLock()
    ?.lock()
    .catch(() => undefined);
}

/** Leaves full screen and returns the keyboard to the browser. */
export async function leaveFullscreen(): Promise<void> {
  keyboardLock()?.unlock();
  await document.exitFullscreen();
}

function keyboardLock(): KeyboardLock | undefined {
  return (navigator as Navigator & { keyboard?: KeyboardLock }).keyboard;
}

import { useSyncExternalStore } from "react";
import { isFullscreen } from "../stream/fullscreen.ts";
import { isPointerLocked } from "../stream/pointerLock.ts";

/** Returns whether the page is shown full screen. */
export function useIsFullscreen(): boolean {
  return useSyncExternalStore(listenTo("fullscreenchange"), isFullscreen);
}

/** Returns whether the pointer is locked to an element. */
export function useIsPointerLocked(): boolean {
  return useSyncExternalStore(listenTo("pointerlockchange"), isPointerLocked);
}

const subscriptions = new Map<string, (listener: () => void) => () => void>();

/** Returns the same function for the same event each time, so that React does not subscribe again. */
function listenTo(name: string): (listener: () => void) => () => void {
  const known = subscriptions.get(name);
  if (known !== undefined) return known;
  const subscribe = (listener: () => void): (() => void) => {
    document.addEventListener(name, listener);
    return () => document.removeEventListener(name, listener);
  };
  subscriptions.set(name, subscribe);
  return subscribe;
}

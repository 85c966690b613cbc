import { useSyncExternalStore } from "react";

/** Whether the whole window shows the element's page full screen. */
export function useIsFullscreen(): boolean {
  return useSyncExternalStore(listenTo("fullscreenchange"), () => document.fullscreenElement !== null);
}

/** Whether the pointer is locked to an element. */
export function useIsPointerLocked(): boolean {
  return useSyncExternalStore(listenTo("pointerlockchange"), () => document.pointerLockElement !== null);
}

const subscriptions = new Map<string, (listener: () => void) => () => void>();

/** The same function for the same event each time, so that React does not subscribe anew. */
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

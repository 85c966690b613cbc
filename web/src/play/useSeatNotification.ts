import { useCallback, useState } from "react";

/** The browser's notifications, which reach a player who looks at another window. */
export interface SeatNotification {
  /** Whether the player can still be asked for the permission. */
  canAsk: boolean;
  ask: () => void;
  /** Shows a notification if it is allowed and the page is hidden. The returned function removes it. */
  show: (title: string, text: string) => () => void;
}

/** Returns the browser's notifications. They do nothing in browsers and contexts without them. */
export function useSeatNotification(): SeatNotification {
  const [permission, setPermission] = useState(() =>
    "Notification" in window ? Notification.permission : "denied",
  );
  const ask = useCallback(() => void Notification.requestPermission().then(setPermission), []);
  const show = useCallback((title: string, text: string) => {
    const notification = document.hidden ? createNotification(title, text) : undefined;
    notification?.addEventListener("click", () => {
      window.focus();
      notification.close();
    });
    return () => notification?.close();
  }, []);
  return { canAsk: permission === "default", ask, show };
}

/** Chrome on Android has the constructor, but throws: it allows notifications only from service workers. */
function createNotification(title: string, body: string): Notification | undefined {
  if (!("Notification" in window) || Notification.permission !== "granted") return undefined;
  try {
    return new Notification(title, { body, tag: "joypod-seat" });
  } catch {
    return undefined;
  }
}

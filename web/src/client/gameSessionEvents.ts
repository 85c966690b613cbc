/** The server-sent events of one session, as the API sends them. */
import {
  gameSessionEvents,
  GameSessionEventStatus,
  GameSessionExpiring,
} from "#contracts/http/gameSessionEvents.ts";
import type { GameSessionStatusResponse } from "#contracts/http/gameSessions.ts";

/** Pause before the events are requested again after an error response. */
const errorRetryMs = 30_000;
const { expiring, ...statusEvents } = gameSessionEvents;

export interface GameSessionEventHandlers {
  onStatus: (session: GameSessionStatusResponse) => void;
  onExpiring: (expiresAt: string) => void;
  /**
   * Called with true when events are known to come by the stream that has opened, and with false when such a
   * one breaks off.
   */
  onOpen: (isOpen: boolean) => void;
}

/**
 * Subscribes to a session's events until its end or until the returned function is called. The browser
 * reconnects a broken stream by itself.
 */
export function subscribeToGameSession(sessionId: string, handlers: GameSessionEventHandlers): () => void {
  let source: EventSource | undefined;
  let retryTimer: ReturnType<typeof setTimeout> | undefined;
  let isOpen = false;
  let hasHeard = false;
  const setOpen = (next: boolean): void => {
    if (next === isOpen) return;
    isOpen = next;
    handlers.onOpen(isOpen);
  };
  const open = (): void => {
    source = openSource(sessionId, handlers, () => {
      hasHeard = true;
      setOpen(true);
    });
    // A proxy may let a stream open and hold back all that it says. The first event comes at once; a stream
    // that is opened again may have nothing new.
    source.addEventListener("open", () => setOpen(hasHeard));
    source.addEventListener("error", () => {
      setOpen(false);
      // The browser closes the source after an error response and does not reconnect then.
      if (source?.readyState === EventSource.CLOSED) retryTimer = setTimeout(open, errorRetryMs);
    });
  };
  open();
  return () => {
    clearTimeout(retryTimer);
    source?.close();
  };
}

function openSource(
  sessionId: string,
  { onStatus, onExpiring }: GameSessionEventHandlers,
  onEvent: () => void,
): EventSource {
  const source = new EventSource(`/api/game/events?${new URLSearchParams({ sessionId })}`);
  for (const name of Object.values(statusEvents)) {
    source.addEventListener(name, (event) => {
      onEvent();
      const session = GameSessionEventStatus.safeParse(dataOf(event)).data;
      if (session !== undefined) onStatus(session);
      if (name === gameSessionEvents.end) source.close();
    });
  }
  source.addEventListener(expiring, (event) => {
    onEvent();
    const warning = GameSessionExpiring.safeParse(dataOf(event)).data;
    if (warning !== undefined) onExpiring(warning.expiresAt);
  });
  return source;
}

function dataOf({ data }: MessageEvent<unknown>): unknown {
  try {
    return typeof data === "string" ? JSON.parse(data) : undefined;
  } catch {
    return undefined; // The data was cut off or altered on the way; polling finds the status.
  }
}

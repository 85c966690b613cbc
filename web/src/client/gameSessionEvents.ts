/** The events of one session, as the API sends them. */
import { gameSessionEvents, GameSessionEventStatus, GameSessionExpiring } from "#contracts/http/gameSessionEvents.ts";
import type { GameSessionStatusResponse } from "#contracts/http/gameSessions.ts";

/** After a refusal the stream is tried again; meanwhile the status is polled. */
const refusedRetryMs = 30_000;
const { expiring, ...states } = gameSessionEvents;

export interface GameSessionFollower {
  onStatus: (session: GameSessionStatusResponse) => void;
  onExpiring: (expiresAt: string) => void;
  /** Whether the stream is open: what is told now is all there is to know. */
  onOpen: (isOpen: boolean) => void;
}

/** Follows a session until its end or until the given function is called. The browser comes back by itself when the line breaks. */
export function followGameSession(sessionId: string, follower: GameSessionFollower): () => void {
  let source: EventSource | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const open = (): void => {
    const opened = new EventSource(`/api/game/events?${new URLSearchParams({ sessionId })}`);
    source = opened;
    opened.addEventListener("open", () => follower.onOpen(true));
    opened.addEventListener("error", () => {
      follower.onOpen(false);
      // Closed means refused, for good as far as the browser is concerned.
      if (opened.readyState === EventSource.CLOSED) timer = setTimeout(open, refusedRetryMs);
    });
    for (const name of Object.values(states)) {
      opened.addEventListener(name, (event) => {
        const session = GameSessionEventStatus.safeParse(dataOf(event)).data;
        if (session !== undefined) follower.onStatus(session);
        if (name === gameSessionEvents.end) opened.close();
      });
    }
    opened.addEventListener(expiring, (event) => {
      const warning = GameSessionExpiring.safeParse(dataOf(event)).data;
      if (warning !== undefined) follower.onExpiring(warning.expiresAt);
    });
  };
  open();
  return () => {
    clearTimeout(timer);
    source?.close();
  };
}

function dataOf({ data }: MessageEvent<unknown>): unknown {
  try {
    return typeof data === "string" ? JSON.parse(data) : undefined;
  } catch {
    return undefined; // Cut or not ours: the poll beside it tells.
  }
}

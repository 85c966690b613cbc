import { useEffect, useRef } from "react";
import type { GameSessionStatusResponse } from "#contracts/http/gameSessions.ts";
import { leaveGameSession } from "../client/gameSessions.ts";
import type { GameStream } from "../stream/gameStream.ts";

/** What a page without a connection to the stream sends. */
const noConnection = "none";

/**
 * Reports when the page closes or the player opens another one of this site while the session goes on, so
 * that its seat is free soon. A place in the queue is kept on other pages, whose header shows it.
 */
export function useLeaveReport(
  session: GameSessionStatusResponse | undefined,
  stream: GameStream | undefined,
  isStopping: boolean,
): void {
  const report = useRef<() => void>(() => undefined);
  const isQueued = useRef(false);
  useEffect(() => {
    isQueued.current = session?.stage === "queued";
    report.current = () => {
      if (session === undefined || isStopping) return;
      if (session.status !== "starting" && session.status !== "running") return;
      const connection = stream?.connectionId ?? noConnection;
      leaveGameSession({ sessionId: session.sessionId, connection });
    };
  });
  useEffect(() => {
    const leave = (): void => report.current();
    window.addEventListener("pagehide", leave);
    return () => {
      window.removeEventListener("pagehide", leave);
      if (!isQueued.current) leave();
    };
  }, []);
}

import { createContext, use, useCallback, useEffect, useMemo, useState, type ReactNode } from "react";
import { useLocation } from "react-router";
import type { GameSessionsResponse } from "#contracts/http/gameSessions.ts";
import { listGameSessions } from "../client/api.ts";
import { useAuth } from "../signIn/useAuth.tsx";

export type ActiveGameSession = GameSessionsResponse["sessions"][number];

const refreshMs = 30_000;

interface Active {
  active: ActiveGameSession | undefined;
  refresh: () => void;
}

const ActiveContext = createContext<Active>({ active: undefined, refresh: () => undefined });

/** Knows the player's one active session: asked for on every page change, on return to the tab, and now and then. */
export function ActiveGameSessionProvider({ children }: { children: ReactNode }) {
  const { auth, noticeError } = useAuth();
  const { pathname } = useLocation();
  const [active, setActive] = useState<ActiveGameSession>();
  const isSignedIn = auth.state === "signedIn";

  const refresh = useCallback(() => {
    // When the question fails the last answer stays; the next one comes soon.
    if (isSignedIn) listGameSessions().then((sessions) => setActive(sessions[0]), noticeError);
    else setActive(undefined);
  }, [isSignedIn, noticeError]);

  useEffect(() => {
    refresh();
    const timer = setInterval(refresh, refreshMs);
    window.addEventListener("focus", refresh);
    return () => {
      clearInterval(timer);
      window.removeEventListener("focus", refresh);
    };
  }, [refresh, pathname]);

  const value = useMemo(() => ({ active, refresh }), [active, refresh]);
  return <ActiveContext value={value}>{children}</ActiveContext>;
}

/** The player's active session, as the provider above knows it. */
export function useActiveGameSession(): Active {
  return use(ActiveContext);
}

/** The play page of a session; the game's name is kept in the address so that the way back is known after the session's end. */
export function playPath({ sessionId, gameSlug }: { sessionId: string; gameSlug?: string | undefined }): string {
  const query = gameSlug === undefined ? "" : `?${new URLSearchParams({ game: gameSlug })}`;
  return `/play/${encodeURIComponent(sessionId)}${query}`;
}

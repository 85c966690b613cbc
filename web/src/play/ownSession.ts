import type { GameSessionStatusResponse } from "#contracts/http/gameSessions.ts";
import { isApiError } from "../client/apiError.ts";

/**
 * Returns the session as it was last read; undefined once the API knows no such session of the player, who
 * may be another one than before: tabs share their sign-in. The last request's failure is `error`.
 */
export function ownSession<Session extends Pick<GameSessionStatusResponse, "status">>(
  session: Session | undefined,
  error: Error | null,
): Session | undefined {
  return isApiError(error, "not_found") ? undefined : session;
}

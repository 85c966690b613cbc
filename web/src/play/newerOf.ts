import { publicStatuses } from "#contracts/crd/publicStatus.ts";
import type { GameSessionStatusResponse } from "#contracts/http/gameSessions.ts";

/**
 * Returns the newer of two reports about one session. A session never goes back to an earlier status, so a
 * response that does is older than the event that came while it was on its way.
 */
export function newerOf(
  known: GameSessionStatusResponse | undefined,
  received: GameSessionStatusResponse,
): GameSessionStatusResponse {
  return known !== undefined && publicStatuses.indexOf(received.status) < publicStatuses.indexOf(known.status)
    ? known
    : received;
}

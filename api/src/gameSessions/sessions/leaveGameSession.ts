import type { LeaveRequest, LeaveResponse } from "#contracts/http/gameSessions.ts";
import { notFound } from "../../errors.ts";
import { findGameSession, updateGameSessionLeft } from "./gameSessionQueries.ts";
import type { Deps } from "../../deps.ts";

/**
 * Shortens the idle timeout of a session whose page has closed, so that its seat is free soon. Ignored unless
 * the page had the newest connection, or there was none yet: an old tab ends nothing. Only the row changes,
 * so during an outage of the database the ordinary timeout applies. A keepalive or a new connection restores
 * the full timeout.
 *
 * @throws DomainError `not_found`.
 */
export async function leaveGameSession(
  { postgres, config }: Pick<Deps, "postgres" | "config">,
  userId: string,
  { sessionId: id, connection }: LeaveRequest,
): Promise<LeaveResponse> {
  const { leaveGraceSeconds } = config.gameSession;
  const expiresAt = await updateGameSessionLeft(postgres.pool, { id, userId, connection }, leaveGraceSeconds);
  if (expiresAt !== undefined) return { status: "left", expiresAt: expiresAt.toISOString() };
  if ((await findGameSession(postgres.pool, id, userId)) === undefined)
    throw notFound("This session does not exist.");
  return { status: "ignored" };
}

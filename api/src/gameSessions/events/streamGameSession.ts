import { hasEnded } from "#contracts/crd/sessionState.ts";
import { limits } from "#contracts/limits.ts";
import { slept } from "#runtime/scheduling/clock.ts";
import { presentGameSession } from "../present.ts";
import type { UserDeps, UserPrincipal } from "../../auth/requireUser.ts";
import type { ClusterView } from "../../cluster/clusterView.ts";
import type { AppContext } from "../../http/appContext.ts";
import type { GameSessionRow } from "../gameSessionQueries.ts";
import { EventBody } from "./eventBody.ts";
import { encodeEvent, parsePosition, stateOf } from "./gameSessionEvent.ts";
import type { GameSessionEvents } from "./gameSessionEvents.ts";

/** What following a session needs. */
export type GameSessionStreamDeps = UserDeps & {
  config: { gameSession: { eventHeartbeatSeconds: number } };
  cluster: ClusterView;
  gameSessionEvents: GameSessionEvents;
};

/** Browsers wait this long before they reconnect. */
const retryMs = 2_000;

/**
 * Responds with the session's events until its end, the end of the sign-in, or an hour. A client that knows
 * the end already gets 204, which tells browsers not to reconnect.
 */
export function streamGameSession(
  ctx: AppContext<GameSessionStreamDeps>,
  user: UserPrincipal,
  row: GameSessionRow,
): void {
  const { gameSessionEvents, cluster, config } = ctx.deps;
  const lastEventId = ctx.get("last-event-id");
  const now = presentGameSession(row, cluster, config.baseUrl);
  ctx.set("Cache-Control", "no-store, no-transform");
  if (hasEnded(now.status) && parsePosition(lastEventId)?.state === stateOf(now)) {
    ctx.status = 204;
    return;
  }
  // A plain end would leave the kernel holding what it has buffered for the reader.
  const body = new EventBody(() => ctx.req.socket.resetAndDestroy());
  body.send(`retry: ${retryMs}\n\n`);
  const unfollow = gameSessionEvents.follow(
    { row, userId: user.id, lastEventId },
    {
      send: (event) => body.send(encodeEvent(event)),
      end: () => body.end(),
    },
  );
  const closed = new AbortController();
  body.once("close", () => {
    unfollow();
    closed.abort();
  });
  void keepOpen(ctx, user, body, closed.signal);
  ctx.set("X-Accel-Buffering", "no");
  ctx.type = "text/event-stream";
  ctx.body = body;
}

/**
 * Sends heartbeats, which keep proxies and browsers from closing the connection, as long as the sign-in is
 * valid.
 */
async function keepOpen(
  { deps }: AppContext<GameSessionStreamDeps>,
  user: UserPrincipal,
  body: EventBody,
  signal: AbortSignal,
): Promise<void> {
  const { authSessions, clock, config } = deps;
  const endMs = clock.monotonicMs() + limits.gameSession.eventStreamSeconds * 1000;
  while (await slept(clock, config.gameSession.eventHeartbeatSeconds * 1000, signal)) {
    // When the check fails, the stream stays: the sign-in was valid a moment ago, and the stream shows
    // nothing but this session.
    const isSignedIn = await authSessions.admit(user.authSessionId, user.id, []).then(
      (admission) => admission !== undefined,
      () => true,
    );
    if (isSignedIn && clock.monotonicMs() < endMs) body.send(":\n\n");
    else body.end();
  }
}

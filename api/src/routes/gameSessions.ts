import { GameSessionRequest, LaunchRequest } from "#contracts/http/gameSessions.ts";
import { keepGameSessionAlive } from "../commands/keepGameSessionAlive.ts";
import { launchGame } from "../commands/launchGame.ts";
import { stopGameSession } from "../commands/stopGameSession.ts";
import { notFound } from "../errors.ts";
import { presentGameSession, presentGameSessions, presentKeepalive, presentLaunch, presentStop } from "../presenters/gameSession.ts";
import { userRoute, type Route } from "../routing/route.ts";
import { findGameSession, listActiveGameSessions } from "../stores/gameSessionStore.ts";

const launch = userRoute({
  method: "POST",
  path: "/api/game/launch",
  limits: ["launch", "launchHourly"],
  body: LaunchRequest,
  handle: async ({ ctx, deps, user, body }) => {
    const sessionId = await launchGame(deps, user.id, body);
    ctx.status = 202;
    ctx.body = presentLaunch(sessionId);
  },
});

const status = userRoute({
  method: "GET",
  path: "/api/game/session-status",
  limits: ["poll"],
  query: GameSessionRequest,
  handle: async ({ ctx, deps, user, query }) => {
    const row = await findGameSession(deps.postgres.pool, query.sessionId, user.id);
    if (row === undefined) throw notFound("There is no such session.");
    ctx.body = presentGameSession(row, deps.cluster, deps.config.baseUrl);
  },
});

const keepalive = userRoute({
  method: "POST",
  path: "/api/game/keepalive",
  limits: ["poll"],
  body: GameSessionRequest,
  handle: async ({ ctx, deps, user, body }) => {
    ctx.body = presentKeepalive(await keepGameSessionAlive(deps, user.id, body.sessionId));
  },
});

const stop = userRoute({
  method: "POST",
  path: "/api/game/stop",
  limits: ["stop"],
  body: GameSessionRequest,
  handle: async ({ ctx, deps, user, body }) => {
    const ended = await stopGameSession(deps, user.id, body.sessionId);
    ctx.status = ended === undefined ? 202 : 200;
    ctx.body = presentStop(ended);
  },
});

const list = userRoute({
  method: "GET",
  path: "/api/game/sessions",
  limits: ["poll"],
  handle: async ({ ctx, deps, user }) => {
    ctx.body = presentGameSessions(await listActiveGameSessions(deps.postgres.pool, user.id), deps.cluster);
  },
});

/** Launching, watching, keeping and ending the player's own sessions. */
export const gameSessionRoutes: readonly Route[] = [launch, status, keepalive, stop, list];

import {
  GameSessionRequest,
  GameSessionsResponse,
  GameSessionStatusResponse,
  KeepaliveResponse,
  LeaveRequest,
  LeaveResponse,
  LaunchRequest,
  LaunchResponse,
  StopPendingResponse,
  StopResponse,
} from "#contracts/http/gameSessions.ts";
import { SaveRequestedResponse } from "#contracts/http/saves.ts";
import { keepGameSessionAlive } from "./keepGameSessionAlive.ts";
import { launchGame } from "../launching/launchGame.ts";
import { leaveGameSession } from "./leaveGameSession.ts";
import { confirmSeat } from "../queue/confirmSeat.ts";
import { stopGameSession } from "./stopGameSession.ts";
import { notFound, DomainError, unavailable } from "../../errors.ts";
import { streamGameSession } from "./followGameSession.ts";
import {
  presentGameSession,
  presentGameSessions,
  presentKeepalive,
  presentLaunch,
  presentStop,
  currentStatus,
} from "./present.ts";
import { eventStream, empty } from "../../http/responses.ts";
import { createRemember } from "../../http/idempotency.ts";
import type { Route } from "../../http/route.ts";
import { userRouteFor } from "../../auth/requireUser.ts";
import { listActiveGameSessions, findDatedGameSession } from "./gameSessionQueries.ts";
import { readGameSession } from "./readGameSession.ts";
import type { Deps } from "../../deps.ts";

const route = userRouteFor<Deps>();

const launch = route({
  method: "POST",
  path: "/api/game/launch",
  name: "launchGame",
  summary: "Launch a game",
  description:
    "Without a free seat the response is `no_servers`, or with `wait` a session that waits in the queue." +
    " A refused launch counts towards the limits, but towards the hourly limit only if the response has no `Retry-After`. A retry of a" +
    " launch in progress, with the same `Idempotency-Key`, counts as a `poll` instead.",
  limits: ["launch", "launchHourly"],
  refundedLimits: ["launchHourly"],
  repeats: { countAs: "poll", insteadOf: "launch" },
  body: LaunchRequest,
  responses: { 202: LaunchResponse },
  errors: [
    "not_found",
    "session_active",
    "no_empty_slot",
    "conflict",
    "unreadable_save",
    "newer_save",
    "maintenance",
    "play_limit_reached",
    "no_servers",
  ],
  isIdempotent: true,
  handle: async ({ ctx, deps, user, body }) => {
    const remember = createRemember(ctx, 202);
    const launched = await launchGame(deps, user.id, body, (session, transaction) =>
      remember?.(presentLaunch(session), transaction),
    );
    ctx.status = 202;
    ctx.body = presentLaunch(launched);
  },
});

const confirm = route({
  method: "POST",
  path: "/api/game/confirm",
  name: "confirmSeat",
  summary: "Confirm a seat",
  description:
    "Starts a session of the queue whose seat is ready (`queue.confirmBy` in its status). If the seat was lost in the meantime, because" +
    " its server failed, the response has the stage `queued`, and the session keeps its place. Idempotent.",
  limits: ["poll"],
  body: GameSessionRequest,
  responses: { 202: LaunchResponse },
  errors: ["not_found", "conflict", "maintenance", "no_servers"],
  handle: async ({ ctx, deps, user, body }) => {
    ctx.status = 202;
    ctx.body = presentLaunch(await confirmSeat(deps, user.id, body.sessionId));
  },
});

const status = route({
  method: "GET",
  path: "/api/game/session-status",
  name: "getGameSession",
  summary: "Show a session",
  description:
    "Poll every two seconds until the session is `running`. Ended sessions stay readable for 24 hours." +
    " While the database is unavailable, only sessions that still exist in the cluster can be read, with the game's slug as their title.",
  limits: ["poll"],
  query: GameSessionRequest,
  responses: { 200: GameSessionStatusResponse },
  errors: ["not_found"],
  handle: async ({ ctx, deps, user, query }) => {
    const row = await readGameSession(deps, query.sessionId, user.id);
    if (row === undefined) throw notFound("This session does not exist.");
    ctx.body = presentGameSession(row, deps, deps.clock.now());
  },
});

const events = route({
  method: "GET",
  path: "/api/game/events",
  name: "followGameSession",
  summary: "Follow a session",
  description:
    "Server-sent events: `stage` while the session waits in the queue or starts, `running`, `expiring` before the idle timeout, `ending` before any end that the player or the game did not ask for, `stopping`, and finally `end`." +
    " The data is the response of `session-status`; for `expiring` it is `sessionId`, `expiresAt` and `secondsLeft`, for `ending` its field `ending` with `sessionId`." +
    " `running` is sent again when such an end is postponed, and for a new `announcement`. A client that" +
    " reconnects with `Last-Event-ID` receives only what it has missed.",
  limits: ["poll"],
  query: GameSessionRequest,
  headers: ["Last-Event-ID"],
  responses: {
    200: eventStream("The session's events until it ends."),
    204: empty("The session has ended and the client has received the last event."),
  },
  errors: ["not_found", "rate_limited", "unavailable"],
  handle: async ({ ctx, deps, user, query }) => {
    const row = await readGameSession(deps, query.sessionId, user.id);
    if (row === undefined) throw notFound("This session does not exist.");
    streamGameSession(ctx, user, row);
  },
});

const keepalive = route({
  method: "POST",
  path: "/api/game/keepalive",
  name: "keepGameSessionAlive",
  summary: "Keep a session alive",
  limits: ["poll"],
  body: GameSessionRequest,
  responses: { 200: KeepaliveResponse },
  errors: ["not_found"],
  handle: async ({ ctx, deps, user, body }) => {
    ctx.body = presentKeepalive(await keepGameSessionAlive(deps, user.id, body.sessionId));
  },
});

const leave = route({
  method: "POST",
  path: "/api/game/leave",
  name: "leaveGameSession",
  summary: "Leave a session",
  description:
    "For a page that closes, such as by `navigator.sendBeacon` on `pagehide`: the session is stopped as idle after a grace period, two minutes by default, also while it starts." +
    " A keepalive or another connection to the stream, from any device, restores the full timeout. Ignored unless `connection` is the newest connection of the player, or there was none.",
  limits: ["poll"],
  body: LeaveRequest,
  responses: { 200: LeaveResponse },
  errors: ["not_found"],
  handle: async ({ ctx, deps, user, body }) => {
    ctx.body = await leaveGameSession(deps, user.id, body);
  },
});

const stop = route({
  method: "POST",
  path: "/api/game/stop",
  name: "stopGameSession",
  summary: "Stop a session",
  description: "Saves the game, removes its container and returns the session's usage. Idempotent.",
  limits: ["stop"],
  body: GameSessionRequest,
  responses: { 200: StopResponse, 202: StopPendingResponse },
  errors: ["not_found"],
  handle: async ({ ctx, deps, user, body }) => {
    const ended = await stopGameSession(deps, user.id, body.sessionId);
    ctx.status = ended === undefined ? 202 : 200;
    ctx.body = presentStop(ended);
  },
});

const save = route({
  method: "POST",
  path: "/api/game/save",
  name: "saveGameSession",
  summary: "Save a running session",
  description: "Keeps a separate version, in addition to autosaves.",
  limits: ["saves"],
  body: GameSessionRequest,
  responses: { 202: SaveRequestedResponse },
  errors: ["not_found", "not_running"],
  handle: async ({ ctx, deps, user, body }) => {
    await requestSave(deps, user.id, body.sessionId);
    ctx.status = 202;
    ctx.body = { status: "saving" } satisfies SaveRequestedResponse;
  },
});

const list = route({
  method: "GET",
  path: "/api/game/sessions",
  name: "listGameSessions",
  summary: "List active sessions",
  limits: ["poll"],
  responses: { 200: GameSessionsResponse },
  errors: [],
  handle: async ({ ctx, deps, user }) => {
    ctx.body = presentGameSessions(await listActiveGameSessions(deps.postgres.pool, user.id), deps.cluster);
  },
});

/** Launching, watching, keeping and ending the player's own sessions. */
export const gameSessionRoutes: readonly Route<Deps>[] = [
  launch,
  confirm,
  status,
  events,
  keepalive,
  leave,
  save,
  stop,
  list,
];

/**
 * Requests a save of the running session. When it is stored, the recorder keeps it as a version with the time
 * of this request, which is the database's, like the times of all versions.
 *
 * @throws DomainError `not_found`, `not_running` or `unavailable`.
 */
async function requestSave(
  { postgres, cluster, gameSessionWriter }: Pick<Deps, "postgres" | "cluster" | "gameSessionWriter">,
  userId: string,
  id: string,
): Promise<void> {
  const row = await findDatedGameSession(postgres.pool, id, userId);
  if (row === undefined) throw notFound("This session does not exist.");
  if (currentStatus(row, cluster.gameSession(id)) !== "running") throw notRunning();
  const isThere = await gameSessionWriter.requestSave(id, row.now).catch((cause: unknown) => {
    throw unavailable("The game server cannot be reached right now. Try again in a moment.", cause);
  });
  if (!isThere) throw notRunning();
}

function notRunning(): DomainError {
  return new DomainError("not_running", {
    message: "This session is not running, so there is nothing to save.",
  });
}

import { HistoryQuery, HistoryResponse, PlayTimeQuery, PlayTimeResponse } from "#contracts/http/history.ts";
import { userRouteFor } from "../../auth/requireUser.ts";
import type { Deps } from "../../deps.ts";
import { pictureAddress } from "../../games/present.ts";
import { respondCacheable } from "../../http/respondCacheable.ts";
import { cacheable } from "../../http/responses.ts";
import type { Route } from "../../http/route.ts";
import {
  countPlayedGames,
  listGamePlayTimes,
  listPlayedSessions,
  sumPlayedSessions,
} from "./historyQueries.ts";
import { presentGamePlayTime, presentPagination, presentPlayedSession, rounded } from "./present.ts";

const route = userRouteFor<Deps>();

const sessions = route({
  method: "GET",
  path: "/api/game/history",
  name: "listPlayedSessions",
  summary: "List past and active sessions",
  description: "The player's own sessions of all games, also of games that have left the catalogue.",
  limits: ["catalog"],
  query: HistoryQuery,
  responses: cacheable(HistoryResponse),
  errors: [],
  handle: async ({ ctx, deps, user, query }) => {
    const { pool } = deps.postgres;
    const { total, playSeconds } = await sumPlayedSessions(pool, user.id, query.game);
    const rows = await listPlayedSessions(pool, user.id, query, pictureAddress(deps.config, ""));
    respondCacheable(ctx, {
      sessions: rows.map(presentPlayedSession),
      playSeconds: rounded(playSeconds),
      pagination: presentPagination(query, total),
    } satisfies HistoryResponse);
  },
});

const playTime = route({
  method: "GET",
  path: "/api/game/play-time",
  name: "listPlayTime",
  summary: "List the play time of each game",
  limits: ["catalog"],
  query: PlayTimeQuery,
  responses: cacheable(PlayTimeResponse),
  errors: [],
  handle: async ({ ctx, deps, user, query }) => {
    const { pool } = deps.postgres;
    const total = await countPlayedGames(pool, user.id);
    const rows = await listGamePlayTimes(pool, user.id, query, pictureAddress(deps.config, ""));
    respondCacheable(ctx, {
      games: rows.map(presentGamePlayTime),
      pagination: presentPagination(query, total),
    } satisfies PlayTimeResponse);
  },
});

/** The player's history. */
export const historyRoutes: readonly Route<Deps>[] = [sessions, playTime];

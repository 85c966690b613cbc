import { gameFaults } from "#contracts/crd/gameSessionReasons.ts";
import {
  GameRun,
  GameRunParams,
  GameRunsQuery,
  GameRunsResponse,
  GameRunTotalsQuery,
  GameRunTotalsResponse,
} from "#contracts/http/gameRuns.ts";
import { PartnerGameParams } from "#contracts/http/partners.ts";
import { limits as allLimits } from "#contracts/limits.ts";
import { printableText } from "#runtime/printableText.ts";
import type { Deps } from "../../deps.ts";
import { invalidRequest, notFound } from "../../errors.ts";
import { findPartnerGame } from "../../games/partnerGameQueries.ts";
import { noSuchGame } from "../../games/updateGame.ts";
import { respondCacheable } from "../../http/respondCacheable.ts";
import { cacheable, media } from "../../http/responses.ts";
import type { Route } from "../../http/route.ts";
import { partnerRouteFor, type PartnerPrincipal } from "../../partners/requirePartner.ts";
import { readRunOutput } from "../recording/runOutputs.ts";
import { positionOf, presentRun, presentRuns, presentRunTotals } from "./present.ts";
import { findRun, listRuns, sumRuns, type RunRow } from "./runQueries.ts";

const route = partnerRouteFor<Deps>();
const runsPath = "/api/partners/games/:slug/runs";
const limits = ["partner"] as const;
const { keptDays, totalsDaysDefault, totalsDaysMax, totalsRowsMax } = allLimits.run;
const dayMs = 24 * 3600_000;

const list = route({
  method: "GET",
  path: runsPath,
  name: "listGameRuns",
  summary: "List a game's runs",
  limits,
  params: PartnerGameParams,
  query: GameRunsQuery,
  description:
    "Every session of the game is a run. Nothing in it identifies the player. Runs disappear with their player's account.",
  headers: ["If-None-Match"],
  responses: cacheable(GameRunsResponse),
  errors: [],
  handle: async ({ ctx, deps, partner, params: { slug }, query }) => {
    const { limit, cursor, crashed, gameVersionId, from, to } = query;
    const rows = await listRuns(deps.postgres.pool, await findGameId(deps, partner, slug), {
      gameVersionId,
      from,
      to,
      failureReasons: crashed === undefined ? undefined : gameFaults,
      after: cursor === undefined ? undefined : positionOf(cursor),
      limit: limit + 1,
    });
    respondCacheable(ctx, presentRuns(rows, limit));
  },
});

const totals = route({
  method: "GET",
  path: `${runsPath}/totals`,
  name: "getGameRunTotals",
  summary: "Get the plays of a game per day and version",
  limits,
  params: PartnerGameParams,
  query: GameRunTotalsQuery,
  description: `Days are in UTC, and a run counts on the day on which it started. The newest ${totalsRowsMax} entries are listed.`,
  headers: ["If-None-Match"],
  responses: cacheable(GameRunTotalsResponse),
  errors: [],
  handle: async ({ ctx, deps, partner, params: { slug }, query }) => {
    const range = totalsRange(query, deps.clock.now());
    const id = await findGameId(deps, partner, slug);
    respondCacheable(ctx, presentRunTotals(range, await sumRuns(deps.postgres.pool, id, range, gameFaults)));
  },
});

const detail = route({
  method: "GET",
  path: `${runsPath}/:runId`,
  name: "getGameRun",
  summary: "Get a run",
  limits,
  params: GameRunParams,
  headers: ["If-None-Match"],
  responses: cacheable(GameRun),
  errors: [],
  handle: async ({ ctx, deps, partner, params: { slug, runId } }) => {
    respondCacheable(ctx, presentRun(await findRunOf(deps, partner, slug, runId)));
  },
});

const log = route({
  method: "GET",
  path: `${runsPath}/:runId/log`,
  name: "getGameRunLog",
  summary: "Get the end of a run's output",
  limits,
  params: GameRunParams,
  description: `The last 64 KiB that the game printed, from its end for ${keptDays} days. Control characters are shown as escapes such as \`\\x1b\`. Joypod adds nothing about the player, but a game may print such data.`,
  responses: { 200: media(["text/plain"], "The output.", { headers: ["Content-Disposition"] }) },
  errors: [],
  handle: async ({ ctx, deps, partner, params: { slug, runId } }) => {
    const { id } = await findRunOf(deps, partner, slug, runId);
    const output = await readRunOutput(deps.objectStore, id);
    if (output === undefined)
      throw notFound(
        `No output of this run is stored: it is still running, printed nothing, or ended more than ${keptDays} days ago.`,
      );
    ctx.status = 200;
    ctx.set("Content-Disposition", `attachment; filename="${id}.log"`);
    ctx.type = "text/plain; charset=utf-8";
    ctx.body = printableText(output);
  },
});

/** Routes for what partners learn about the sessions of their games. */
export const runRoutes: readonly Route<Deps>[] = [list, totals, detail, log];

/**
 * Returns the first and the last day of the totals.
 *
 * @throws invalid_request when there are too many days or none
 */
function totalsRange(query: GameRunTotalsQuery, now: Date): { from: string; to: string } {
  const to = query.to ?? dayOf(now.getTime());
  const from = query.from ?? dayOf(Date.parse(to) - (totalsDaysDefault - 1) * dayMs);
  const days = (Date.parse(to) - Date.parse(from)) / dayMs + 1;
  if (days < 1 || days > totalsDaysMax) {
    const message = `must be at most ${totalsDaysMax - 1} days before \`to\`, and not after it`;
    throw invalidRequest(`The request is not valid. from: ${message}`, [{ path: "from", message }]);
  }
  return { from, to };
}

function dayOf(timeMs: number): string {
  return new Date(timeMs).toISOString().slice(0, 10);
}

async function findGameId(
  { postgres }: Pick<Deps, "postgres">,
  partner: PartnerPrincipal,
  slug: string,
): Promise<string> {
  const game = await findPartnerGame(postgres.prisma, partner.id, slug);
  if (game === null) throw noSuchGame(slug);
  return game.id;
}

async function findRunOf(
  deps: Pick<Deps, "postgres">,
  partner: PartnerPrincipal,
  slug: string,
  runId: string,
): Promise<RunRow> {
  const gameId = await findGameId(deps, partner, slug);
  const run = await findRun(deps.postgres.pool, gameId, runId);
  if (run === undefined) throw notFound("The game has no such run.");
  return run;
}

import pg from "pg";
import { GamesQuery } from "#contracts/http/catalog.ts";
import { listColumns } from "#api/catalog/catalogFilters.ts";
import { CatalogCounts, listCatalogGames } from "#api/catalog/catalogQueries.ts";
import { createTestDatabase } from "../support/stores/postgres.ts";
import { addManyGames, commonWord, rareWord } from "./manyGames.ts";
import { atLeastRow, atMostRow, belowRow, median, percentile, type BenchRow } from "./row.ts";

const games = 100_000;
const user = "nobody";
/** Enough for a 99th percentile. */
const pageRounds = 100;
const comparedRounds = 10;
const p99LimitMs = 30;

/** Queries of players, and the least ratio of the peer's time to ours. */
const filters = [
  { name: "all", query: {} },
  { name: "rare term", query: { search: rareWord }, target: 20 },
  { name: "10 % term", query: { search: commonWord }, target: 3 },
  { name: "two letters", query: { search: "ar" } },
  { name: "tag", query: { tag: "rpg" } },
];
const sorts = ["title", "createdAt", "popular"].flatMap((sort) =>
  ["asc", "desc"].map((order) => ({ sort, order })),
);
const kinds = filters.flatMap(({ name, query }) =>
  sorts.map(({ sort, order }) => ({
    name: `${name}, ${sort} ${order}`,
    query: GamesQuery.parse({ ...query, sort, order }),
  })),
);

/**
 * A5: pages of a catalogue of 100,000 games, compared with the usual implementation: ILIKE, OFFSET and a
 * count.
 */
export async function measureCatalogPages(): Promise<BenchRow[]> {
  return withManyGames(async (pool) => [
    ...(await compareFirsts(pool)),
    ...(await measureKinds(pool)),
    belowRow(
      "A5 p99 of common terms for the first time",
      percentile(await timesOfFirsts(pool), 0.99),
      p99LimitMs,
    ),
  ]);
}

/** Compares queries whose count is not cached. */
async function compareFirsts(pool: pg.Pool): Promise<BenchRow[]> {
  const rows: BenchRow[] = [];
  for (const { name, query: asked, target } of filters) {
    if (target === undefined) continue;
    const query = GamesQuery.parse(asked);
    const { ours, peer } = await inTurns(
      () => listCatalogGames(pool, user, query),
      () => plainPage(pool, query),
    );
    rows.push(atLeastRow(`A5 ${name}, first query, ILIKE + OFFSET`, median(ours), median(peer), target));
  }
  return rows;
}

/** Measures first and last pages, alternating, with cached counts. */
async function measureKinds(pool: pg.Pool): Promise<BenchRow[]> {
  const known = new CatalogCounts();
  const pages: { name: string; p99: number }[] = [];
  const ratios: { name: string; first: number; last: number }[] = [];
  for (const { name, query } of kinds) {
    const { total } = await listCatalogGames(pool, user, query, known);
    const ofPage = (page: number) => () => listCatalogGames(pool, user, { ...query, page }, known);
    const { first, last } = await timesOf({ first: ofPage(1), last: ofPage(Math.ceil(total / query.limit)) });
    pages.push(
      { name, p99: percentile(first, 0.99) },
      { name: `${name}, last page`, p99: percentile(last, 0.99) },
    );
    ratios.push({ name, first: median(first), last: median(last) });
  }
  const slowest = pages.reduce((most, each) => (each.p99 > most.p99 ? each : most));
  const worst = ratios.reduce((most, each) =>
    each.last / each.first > most.last / most.first ? each : most,
  );
  return [
    atMostRow(`A5 last page, first page (worst: ${worst.name})`, worst.last, worst.first, 3),
    belowRow(`A5 p99 of ${pages.length} kinds of pages (worst: ${slowest.name})`, slowest.p99, p99LimitMs),
  ];
}

/** Returns the times of queries for common terms and tags, each counted afresh. */
async function timesOfFirsts(pool: pg.Pool): Promise<number[]> {
  const queries = [{ search: commonWord }, { search: "ar" }, { tag: "rpg" }].map((filter) =>
    GamesQuery.parse(filter),
  );
  const times: number[] = [];
  for (let round = 0; round < 40; round++) {
    for (const query of queries) times.push(await timed(() => listCatalogGames(pool, user, query)));
  }
  return times;
}

/**
 * A4: processor time of this process for one list page, compared with the bare driver and a prepared
 * statement.
 */
export async function measureCatalogClient(): Promise<BenchRow> {
  return withManyGames(async (pool) => {
    const query = GamesQuery.parse({});
    const peer = {
      name: "peer",
      text: `SELECT ${listColumns("''")} FROM games g WHERE g.status = 'active' AND g.deleted_at IS NULL ORDER BY g.title_key, g.id LIMIT $2 OFFSET $3`,
    };
    const client = await pool.connect();
    const oursUs: number[] = [];
    const peerUs: number[] = [];
    try {
      for (let round = 0; round < 60; round++) {
        oursUs.push(await processorUs(() => listCatalogGames(client, user, query)));
        peerUs.push(await processorUs(() => client.query({ ...peer, values: [user, query.limit, 0] })));
      }
    } finally {
      client.release();
    }
    return atMostRow(
      "A4 client processor time of a list page, pg prepared",
      median(oursUs) / 1000,
      median(peerUs) / 1000,
      1.3,
    );
  }, 2_000);
}

async function processorUs(work: () => Promise<unknown>): Promise<number> {
  const calls = 50;
  const before = process.cpuUsage();
  for (let call = 0; call < calls; call++) await work();
  const { user: own, system } = process.cpuUsage(before);
  return (own + system) / calls;
}

async function withManyGames<T>(work: (pool: pg.Pool) => Promise<T>, count = games): Promise<T> {
  const database = await createTestDatabase();
  const pool = new pg.Pool({ connectionString: database.url, max: 2 });
  pool.on("error", () => undefined); // The database is dropped under what has not closed yet.
  try {
    await addManyGames(pool, count);
    return await work(pool);
  } finally {
    await pool.end();
    await database.drop();
  }
}

/**
 * Returns the milliseconds of both, alternating in rounds, so that other load on the machine affects both.
 */
async function inTurns(
  ours: () => Promise<unknown>,
  peer: () => Promise<unknown>,
): Promise<{ ours: number[]; peer: number[] }> {
  const times = { ours: [] as number[], peer: [] as number[] };
  await warmUp(ours);
  for (let round = 0; round < comparedRounds; round++) {
    for (let count = 0; count < 3; count++) times.ours.push(await timed(ours));
    times.peer.push(await timed(peer));
  }
  return times;
}

async function timesOf(
  work: Record<"first" | "last", () => Promise<unknown>>,
): Promise<Record<"first" | "last", number[]>> {
  const times = { first: [] as number[], last: [] as number[] };
  await warmUp(work.first);
  await warmUp(work.last);
  for (let round = 0; round < pageRounds; round++) {
    times.first.push(await timed(work.first));
    times.last.push(await timed(work.last));
  }
  return times;
}

/** Warms up until statements are prepared and planned and data is in memory, as in a serving process. */
async function warmUp(work: () => Promise<unknown>): Promise<void> {
  for (let count = 0; count < 6; count++) await work();
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  await work();
  return performance.now() - startedMs;
}

const columns: Partial<Record<GamesQuery["sort"], string>> = {
  createdAt: "created_at",
  popular: "popularity",
};

/** Returns the page with the same response, implemented in the usual way. */
async function plainPage(
  pool: pg.Pool,
  { search, tag, sort, order, page, limit }: GamesQuery,
): Promise<void> {
  const where =
    `g.status = 'active' AND g.deleted_at IS NULL${search === undefined ? "" : " AND (g.title ILIKE $1 OR g.developer ILIKE $1)"}` +
    (tag === undefined ? "" : " AND $1 = ANY (g.tags)");
  const values = search === undefined ? (tag === undefined ? [] : [tag]) : [`%${search}%`];
  await pool.query({
    name: `plain.count.${where}`.slice(0, 60),
    text: `SELECT count(*) FROM games g WHERE ${where}`,
    values,
  });
  await pool.query({
    name: `plain.page.${sort}.${order}`,
    text: `SELECT g.id, g.slug, g.title, g.developer, g.description, g.tags, g.thumbnail, g.release_date FROM games g WHERE ${where}
      ORDER BY g.${columns[sort] ?? "title_key"} ${order}, g.title_key, g.id LIMIT ${limit} OFFSET ${(page - 1) * limit}`,
    values,
  });
}

import pg from "pg";
import { GamesQuery } from "#contracts/http/catalog.ts";
import { CatalogCounts } from "../../api/src/stores/catalogCounts.ts";
import { listCatalog } from "../../api/src/stores/catalog.ts";
import { listColumns } from "../../api/src/stores/catalogStatement.ts";
import { createTestDatabase } from "../support/postgres.ts";
import { addManyGames, commonWord, rareWord } from "./manyGames.ts";
import { atLeastRow, atMostRow, belowRow, median, percentile, type BenchRow } from "./row.ts";

const games = 100_000;
const user = "nobody";
/** Enough for a 99th percentile. */
const pageRounds = 100;
const comparedRounds = 10;
const p99LimitMs = 30;

/** What players ask the catalogue for. */
interface Case {
  name: string;
  query: Record<string, string>;
  isLast: boolean;
  /** How many times as fast as the peer it has to be. */
  target?: number;
}

const sorts = ["title", "createdAt", "popular"].flatMap((sort) => ["asc", "desc"].map((order) => ({ sort, order })));
const cases: Case[] = [
  { name: "rare term", query: { search: rareWord }, isLast: false, target: 20 },
  { name: "10 % term", query: { search: commonWord }, isLast: false, target: 3 },
  { name: "two letters", query: { search: "ar" }, isLast: false },
  { name: "tag", query: { tag: "rpg" }, isLast: false },
  ...[{}, { search: rareWord }, { search: commonWord }, { search: "ar" }, { tag: "rpg" }].flatMap((filter) => sorts.flatMap((sort) => [false, true].map((isLast) => ({
    name: Object.values({ ...filter, ...sort }).join(" "), query: { ...filter, ...sort }, isLast,
  })))),
];

/** A5: pages of a catalogue of 100,000 games, against what is usually written: ILIKE, OFFSET and a count. */
export async function measureCatalogPages(): Promise<BenchRow[]> {
  return withManyGames(async (pool) => {
    const rows: BenchRow[] = [];
    // What the process has counted before; the comparisons are of first questions, which it has to count.
    const known = new CatalogCounts();
    const slowest = { name: "", ms: 0 };
    const medians = new Map<string, number>();
    for (const each of cases) {
      const query = await pageOf(pool, each);
      const first = (): Promise<unknown> => listCatalog(pool, user, query);
      if (each.target !== undefined) {
        const { ours, peer } = await inTurns(first, () => plainPage(pool, query));
        rows.push(atLeastRow(`A5 ${each.name} for the first time, ILIKE + OFFSET`, median(ours), median(peer), each.target));
      }
      const ours = await timesOf(() => listCatalog(pool, user, query, known));
      const p99 = percentile(ours, 0.99);
      if (p99 > slowest.ms) Object.assign(slowest, { name: `${each.name}${each.isLast ? ", last page" : ""}`, ms: p99 });
      medians.set(`${each.name} ${each.isLast}`, median(ours));
    }
    const firsts = await timesOfFirsts(pool);
    const ratios = cases.filter(({ isLast }) => isLast).map(({ name }) => ({ name, first: medians.get(`${name} false`) ?? 0, last: medians.get(`${name} true`) ?? 0 }));
    const [worst] = ratios.toSorted((a, b) => b.last / b.first - a.last / a.first);
    if (worst !== undefined) rows.push(atMostRow(`A5 last page, first page (worst: ${worst.name})`, worst.last, worst.first, 3));
    rows.push(belowRow(`A5 p99 of ${cases.length} kinds of pages (worst: ${slowest.name})`, slowest.ms, p99LimitMs));
    rows.push(belowRow("A5 p99 of common terms for the first time", percentile(firsts, 0.99), p99LimitMs));
    return rows;
  });
}

/** Terms and tags that many games have, each counted anew. */
async function timesOfFirsts(pool: pg.Pool): Promise<number[]> {
  const queries = [{ search: commonWord }, { search: "ar" }, { tag: "rpg" }].map((filter) => GamesQuery.parse(filter));
  const times: number[] = [];
  for (let round = 0; round < 40; round++) {
    for (const query of queries) times.push(await timed(() => listCatalog(pool, user, query)));
  }
  return times;
}

/** A4: processor time of this process for one list page, against the bare driver with a prepared statement. */
export async function measureCatalogClient(): Promise<BenchRow> {
  return withManyGames(async (pool) => {
    const query = GamesQuery.parse({});
    const peer = {
      name: "peer",
      text: `SELECT ${listColumns} FROM games g WHERE g.status = 'active' AND g.deleted_at IS NULL ORDER BY g.title_key, g.id LIMIT $2 OFFSET $3`,
    };
    const client = await pool.connect();
    const oursUs: number[] = [];
    const peerUs: number[] = [];
    try {
      for (let round = 0; round < 60; round++) {
        oursUs.push(await processorUs(() => listCatalog(client, user, query)));
        peerUs.push(await processorUs(() => client.query({ ...peer, values: [user, query.limit, 0] })));
      }
    } finally {
      client.release();
    }
    return atMostRow("A4 client processor time of a list page, pg prepared", median(oursUs) / 1000, median(peerUs) / 1000, 1.3);
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

async function pageOf(pool: pg.Pool, { query, isLast }: Case): Promise<GamesQuery> {
  const first = GamesQuery.parse(query);
  if (!isLast) return first;
  const { total } = await listCatalog(pool, user, first);
  return { ...first, page: Math.ceil(total / first.limit) };
}

/** Milliseconds of each, in rounds of both, so that what else the machine does hits both. */
async function inTurns(ours: () => Promise<unknown>, peer: () => Promise<unknown>): Promise<{ ours: number[]; peer: number[] }> {
  const times = { ours: [] as number[], peer: [] as number[] };
  await warmUp(ours);
  for (let round = 0; round < comparedRounds; round++) {
    for (let count = 0; count < 3; count++) times.ours.push(await timed(ours));
    times.peer.push(await timed(peer));
  }
  return times;
}

async function timesOf(work: () => Promise<unknown>): Promise<number[]> {
  const times: number[] = [];
  await warmUp(work);
  for (let round = 0; round < pageRounds; round++) times.push(await timed(work));
  return times;
}

/** Prepared, planned and in memory, as in a process that serves. */
async function warmUp(work: () => Promise<unknown>): Promise<void> {
  for (let count = 0; count < 6; count++) await work();
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  await work();
  return performance.now() - startedMs;
}

const columns = { title: "title_key", createdAt: "created_at", popular: "popularity" };

/** The page as it is usually written, with the same answer. */
async function plainPage(pool: pg.Pool, { search, tag, sort, order, page, limit }: GamesQuery): Promise<void> {
  const where = `g.status = 'active' AND g.deleted_at IS NULL${search === undefined ? "" : " AND (g.title ILIKE $1 OR g.developer ILIKE $1)"}`
    + (tag === undefined ? "" : " AND $1 = ANY (g.tags)");
  const values = search === undefined ? tag === undefined ? [] : [tag] : [`%${search}%`];
  await pool.query({ name: `plain.count.${where}`.slice(0, 60), text: `SELECT count(*) FROM games g WHERE ${where}`, values });
  await pool.query({
    name: `plain.page.${sort}.${order}`,
    text: `SELECT g.id, g.slug, g.title, g.developer, g.description, g.tags, g.thumbnail, g.release_date FROM games g WHERE ${where}
      ORDER BY g.${columns[sort]} ${order}, g.title_key, g.id LIMIT ${limit} OFFSET ${(page - 1) * limit}`,
    values,
  });
}

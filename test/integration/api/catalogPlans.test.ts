import { expect } from "chai";
import pg from "pg";
import { GamesQuery } from "#contracts/http/catalog.ts";
import { CatalogCounts, type KnownCount } from "#api/catalog/catalogCounts.ts";
import { listCatalogGames } from "#api/catalog/catalogQueries.ts";
import { catalogPageQuery } from "#api/catalog/catalogPageQuery.ts";
import { addManyGames, commonWord, rareWord } from "#test/bench/manyGames.ts";
import { createTestDatabase, type TestDatabase } from "#test/support/stores/postgres.ts";

/** As `EXPLAIN (FORMAT JSON)` tells it, as far as it is looked at here. */
interface PlanNode {
  "Node Type": string;
  "Relation Name"?: string;
  "Index Name"?: string;
  "Index Cond"?: string;
  "Actual Loops": number;
  Plans?: PlanNode[];
}

/** Enough for more matches than are sorted. */
const games = 2_400;
const filters = [
  {},
  { search: rareWord },
  { search: commonWord },
  { search: "ar" },
  { tag: "rpg" },
  { search: "the", tag: "rpg" },
];
const sortIndexes = {
  "title asc": "games_catalog_title",
  "title desc": "games_catalog_title",
  "createdAt asc": "games_catalog_created",
  "createdAt desc": "games_catalog_created_desc",
  "popular asc": "games_catalog_popular",
  "popular desc": "games_catalog_popular_desc",
};
const kinds = filters.flatMap((filter) =>
  Object.entries(sortIndexes).map(([order, index]) => {
    const [sort = "", direction = ""] = order.split(" ");
    return { query: GamesQuery.parse({ ...filter, sort, order: direction }), index };
  }),
);
/** What the process may have counted before. */
const many: KnownCount = { revision: "-1", total: 501 };

describe("plans for the catalogue's pages", function () {
  this.timeout(60_000);
  let database: TestDatabase;
  let client: pg.Client;

  before(async () => {
    database = await createTestDatabase();
    const pool = new pg.Pool({ connectionString: database.url, max: 1 });
    await addManyGames(pool, games);
    await pool.end();
    client = new pg.Client({ connectionString: database.url });
    await client.connect();
  });
  after(async () => {
    await client.end();
    await database.drop();
  });

  /** The parts of the plan that read games, as they were run. */
  async function readsOf(query: GamesQuery, known?: KnownCount): Promise<PlanNode[]> {
    const { text, values } = catalogPageQuery(query, known);
    const { rows } = await client.query<{ "QUERY PLAN": { Plan: PlanNode }[] }>(
      `EXPLAIN (ANALYZE, FORMAT JSON) ${text}`,
      ["nobody", ...values],
    );
    const nodesOf = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)];
    return rows
      .flatMap(({ "QUERY PLAN": plans }) => plans.flatMap(({ Plan }) => nodesOf(Plan)))
      .filter((node) => node["Relation Name"] === "games" || node["Index Name"]?.startsWith("games_"));
  }

  const isFind = (node: PlanNode): boolean => node["Index Name"] === "games_catalog_found";
  const isRun = (node: PlanNode): boolean => node["Actual Loops"] > 0;

  for (const filter of filters) {
    it(`never scan the table for ${JSON.stringify(filter)}, nor walk another index than the sort's, the title's to count, or that of the newest to guess`, async () => {
      for (const { query, index } of kinds.filter(
        ({ query: { search, tag } }) => search === filter.search && tag === filter.tag,
      )) {
        for (const known of [undefined, many]) {
          const reads = await readsOf(query, known);
          expect(reads.map((node) => node["Node Type"]))
            .to.include("Index Only Scan")
            .and.not.include("Seq Scan");
          const walks = reads
            .filter((node) => node["Node Type"] === "Index Only Scan")
            .map((node) => node["Index Name"]);
          const counted =
            Object.keys(filter).length === 0 ? [] : [sortIndexes["title asc"], sortIndexes["createdAt desc"]];
          expect(new Set(walks)).to.deep.equal(new Set([index, ...counted]));
          expect(reads.some(isFind)).to.equal(query.tag !== undefined || (query.search?.length ?? 0) > 2);
        }
      }
    });
  }

  it("look for a term and a tag in the index at once", async () => {
    const [find] = (await readsOf(GamesQuery.parse({ search: "the", tag: "rpg" }))).filter(isFind);
    expect(find?.["Index Cond"]).to.include("search_text").and.include("tag_keys");
  });

  it("look for few matches where the newest games have few, and not where many have been counted", async () => {
    const isLookedFor = async (filter: object, known?: KnownCount): Promise<boolean[]> =>
      (await readsOf(GamesQuery.parse(filter), known)).filter(isFind).map(isRun);
    expect(await isLookedFor({ search: rareWord })).to.deep.equal([true]);
    expect(await isLookedFor({ search: rareWord }, many)).to.deep.equal([false]);
    expect(await isLookedFor({ search: commonWord })).to.deep.equal([false]);
    expect(await isLookedFor({ tag: "rpg" })).to.deep.equal([false]);
  });

  it("are made for a connection's first five pages of a kind, and kept for all others", async () => {
    const counts = new CatalogCounts();
    for (const { query } of kinds) {
      // Far in and at the beginning, counted and not: none of it may look as if it needed a plan of its own.
      for (const page of [1, 2, 1, 20, 1, 1, 5])
        await listCatalogGames(client, "nobody", { ...query, page }, page === 2 ? undefined : counts);
    }
    const { rows } = await client.query<{ name: string; custom: number; kept: number }>(
      "SELECT name, custom_plans::int AS custom, generic_plans::int AS kept FROM pg_prepared_statements WHERE name LIKE 'list-catalog-%' ORDER BY name",
    );
    // A rare term and a common one ask alike.
    expect(rows).to.have.lengthOf(kinds.length - Object.keys(sortIndexes).length);
    for (const { name, custom, kept } of rows) {
      expect(custom, name).to.equal(5);
      expect(kept, name).to.be.at.least(2);
    }
  });
});

import pg from "pg";
import { expect } from "chai";
import { GamesQuery } from "#contracts/http/catalog.ts";
import type { CatalogQuery } from "#api/catalog/catalogFilters.ts";
import { listCatalogGames, catalogPageQuery, CatalogCounts } from "#api/catalog/catalogQueries.ts";
import { addManyGames, commonWord, rareWord } from "#test/bench/manyGames.ts";
import { visitedRows } from "#test/support/stores/visitedRows.ts";
import { createTestDatabase, type TestDatabase } from "#test/support/stores/postgres.ts";

/** Enough for more matches than the query sorts. */
const games = 2_400;
const filters = [
  {},
  { search: rareWord },
  { search: commonWord },
  { search: "ar" },
  { tag: "rpg" },
  { search: "the", tag: "rpg" },
];
const orders = ["title", "createdAt", "popular"].flatMap((sort) =>
  ["asc", "desc"].map((order) => ({ sort, order })),
);
const kinds = filters.flatMap((filter) => orders.map((order) => GamesQuery.parse({ ...filter, ...order })));

describe("queries of the catalogue's pages", function () {
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

  const visited = async (filter: object): Promise<number> => {
    const { text, values } = catalogPageQuery(GamesQuery.parse(filter) as CatalogQuery);
    return visitedRows(client, text, ["nobody", ...values]);
  };

  for (const order of orders) {
    const title = `by ${order.sort} ${order.order}`;

    it(`visit at most three pages of rows ${title}`, async () => {
      expect(await visited(order)).to.be.at.most(60);
    });

    it(`visit at most a third of the rows for a rare word ${title}`, async () => {
      expect(await visited({ ...order, search: rareWord })).to.be.at.most(games / 3);
    });
  }

  it("are planned for a connection's first five pages of a kind, and share a plan afterwards", async () => {
    const counts = new CatalogCounts();
    for (const query of kinds) {
      // First and later pages, with and without a known count, share one statement.
      for (const page of [1, 2, 1, 20, 1, 1, 5])
        await listCatalogGames(client, "nobody", { ...query, page }, page === 2 ? undefined : counts);
    }
    const { rows } = await client.query<{ name: string; custom: number; kept: number }>(
      "SELECT name, custom_plans::int AS custom, generic_plans::int AS kept FROM pg_prepared_statements WHERE name LIKE 'list-catalog-%' ORDER BY name",
    );
    // A rare and a common search term use the same statement.
    expect(rows).to.have.lengthOf(kinds.length - orders.length);
    for (const { name, custom, kept } of rows) {
      expect(custom, name).to.equal(5);
      expect(kept, name).to.be.at.least(2);
    }
  });
});

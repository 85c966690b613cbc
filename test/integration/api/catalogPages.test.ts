import { expect } from "chai";
import pg from "pg";
import { GamesQuery, type GameListItem } from "#contracts/http/catalog.ts";
import { CatalogCounts, listCatalogGames } from "#api/catalog/catalogQueries.ts";
import { addManyGames, commonWord, rareWord } from "#test/bench/manyGames.ts";
import { createTestDatabase, type TestDatabase } from "#test/support/stores/postgres.ts";

interface Row {
  slug: string;
  title: string;
  developer: string;
  tags: string[];
  popularity: number;
  createdAt: Date;
}

/** Enough for terms with few matches, with many, and with some on either side of the line between. */
const games = 2_400;

describe("pages of a large catalogue", function () {
  this.timeout(60_000);
  let database: TestDatabase;
  let pool: pg.Pool;
  let all: Row[];
  const counts = new CatalogCounts();

  before(async () => {
    database = await createTestDatabase();
    pool = new pg.Pool({ connectionString: database.url, max: 2 });
    pool.on("error", () => undefined); // The database is dropped under what has not closed yet.
    await addManyGames(pool, games);
    // Many, of which the newest games, that a search looks at first, have none.
    await pool.query(
      "UPDATE games SET created_at = created_at - interval '20 years' WHERE search_text LIKE '%the%'",
    );
    const { rows } = await pool.query<Row>(
      `SELECT slug, title, developer, tags, popularity, created_at AS "createdAt" FROM games ORDER BY title_key, id`,
    );
    all = rows;
  });
  after(async () => {
    await pool.end();
    await database.drop();
  });

  /**
   * What the query means, in the simplest way: the rows come by title already, and sorting keeps that among
   * equals.
   */
  function expected({ search, tag, sort, order }: GamesQuery): string[] {
    const found = all.filter(
      ({ title, developer, tags }) =>
        (search === undefined ||
          [title, developer].some((text) => text.toLowerCase().includes(search.toLowerCase()))) &&
        (tag === undefined || tags.includes(tag)),
    );
    const key = (row: Row): number => (sort === "popular" ? row.popularity : row.createdAt.getTime());
    if (sort === "title") return (order === "asc" ? found : found.toReversed()).map(({ slug }) => slug);
    return found.toSorted((a, b) => (key(a) - key(b)) * (order === "asc" ? 1 : -1)).map(({ slug }) => slug);
  }

  const filters = [
    {},
    { search: rareWord },
    { search: commonWord },
    { search: "ar" },
    { search: "the" },
    { search: "É" },
    { tag: "rpg" },
    { search: "the", tag: "indie" },
    { search: "no such" },
  ];
  for (const filter of filters) {
    for (const sort of ["title", "createdAt", "popular"] as const) {
      it(`contain each game of ${JSON.stringify(filter)} by ${sort} exactly once, in either order`, async () => {
        for (const order of ["asc", "desc"] as const) {
          const query = GamesQuery.parse({ ...filter, sort, order, limit: "50" });
          const slugs = expected(query);
          const seen: string[] = [];
          for (let page = 1; page <= Math.ceil(slugs.length / query.limit) + 1; page++) {
            const { total, gamesJson } = await listCatalogGames(pool, "nobody", { ...query, page }, counts);
            expect(total).to.equal(slugs.length);
            seen.push(...slugsOf(gamesJson));
          }
          expect(seen).to.deep.equal(slugs);
        }
      });
    }
  }

  it("keep their total while games are added and removed", async () => {
    const total = async (): Promise<number> =>
      (await listCatalogGames(pool, "nobody", GamesQuery.parse({}), counts)).total;
    await pool.query("UPDATE games SET deleted_at = now() WHERE slug IN ('game-000000', 'game-000001')");
    expect(await total()).to.equal(games - 2);
    await pool.query(
      "UPDATE games SET deleted_at = NULL, popularity = popularity + 1 WHERE slug = 'game-000000'",
    );
    expect(await total()).to.equal(games - 1);
    await pool.query(
      "UPDATE games SET current_version_id = NULL, status = 'pending_upload' WHERE slug = 'game-000002'",
    );
    expect(await total()).to.equal(games - 2);
    const client = await pool.connect();
    await client.query("BEGIN");
    await client.query("DELETE FROM games WHERE slug = 'game-000003'");
    expect((await listCatalogGames(client, "nobody", GamesQuery.parse({}), counts)).total).to.equal(
      games - 3,
    );
    await client.query("ROLLBACK");
    client.release();
    expect(await total()).to.equal(games - 2);
  });

  it("count a search again only after its results have changed", async () => {
    const query = GamesQuery.parse({ search: "ar" });
    const total = async (): Promise<number> => (await listCatalogGames(pool, "nobody", query, counts)).total;
    const revision = async (): Promise<string> =>
      (await pool.query<{ revision: string }>("SELECT revision::text FROM catalog_totals")).rows[0]
        ?.revision ?? "";
    const before = { total: await total(), revision: await revision() };
    await pool.query("UPDATE games SET popularity = popularity + 1, description = 'ar'");
    expect(await revision()).to.equal(before.revision);
    const found = "SELECT slug FROM games WHERE search_text LIKE '%ar%' AND is_listed LIMIT 1";
    await pool.query(`UPDATE games SET title = 'None', developer = 'None' WHERE slug = (${found})`);
    expect(await total()).to.equal(before.total - 1);
    await pool.query(`UPDATE games SET deleted_at = now() WHERE slug = (${found})`);
    expect(await total()).to.equal(before.total - 2);
    await pool.query("UPDATE games SET title = 'ar' WHERE title = 'None'");
    expect(await total()).to.equal(before.total - 1);
    expect(Number(await revision())).to.equal(Number(before.revision) + 3);
  });

  it("count exactly again when few games are left", async () => {
    const query = GamesQuery.parse({ search: "ar", sort: "popular" });
    const known = new CatalogCounts();
    expect((await listCatalogGames(pool, "nobody", query, known)).total).to.be.above(500);
    expect(known.find('["ar",null]')).to.have.property("total").above(500);
    await pool.query("UPDATE games SET title = 'None', developer = 'None' WHERE slug > 'game-00000e'");
    const left = (
      await pool.query<{ slug: string }>(
        "SELECT slug FROM games WHERE search_text LIKE '%ar%' AND is_listed ORDER BY popularity, title_key",
      )
    ).rows.map(({ slug }) => slug);
    expect(left).to.have.length.of.at.least(2);
    for (let round = 0; round < 2; round++) {
      const { total, gamesJson } = await listCatalogGames(pool, "nobody", query, known);
      expect(total).to.equal(left.length);
      expect(slugsOf(gamesJson)).to.deep.equal(left);
      expect(known.find('["ar",null]')).to.equal(undefined);
    }
  });
});

function slugsOf(gamesJson: string): string[] {
  return (JSON.parse(gamesJson) as GameListItem[]).map(({ slug }) => slug);
}

import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { expect } from "chai";
import pg from "pg";
import { migrate } from "#api/stores/migrations.ts";
import { createEmptyDatabase, type TestDatabase } from "#test/support/stores/postgres.ts";

const baseline = "20261129000000_baseline";
const script = fileURLToPath(
  new URL(`../../../api/prisma/migrations/${baseline}/migration.sql`, import.meta.url),
);
const lastBefore = "20261128020000_sigmas";

describe("the baseline migration", function () {
  this.timeout(60_000);
  let database: TestDatabase;
  let client: pg.Client;

  beforeEach(async () => {
    database = await createEmptyDatabase();
    client = new pg.Client({ connectionString: database.url });
    await client.connect();
  });
  afterEach(async () => {
    await client.end();
    await database.drop();
  });

  /** Makes the database look as the development history left it. */
  async function migrateBefore(...names: string[]): Promise<void> {
    await client.query(await readFile(script, "utf8"));
    await client.query(`CREATE TABLE _prisma_migrations (
      id VARCHAR(36) PRIMARY KEY NOT NULL, checksum VARCHAR(64) NOT NULL, finished_at TIMESTAMPTZ, migration_name VARCHAR(255) NOT NULL,
      logs TEXT, rolled_back_at TIMESTAMPTZ, started_at TIMESTAMPTZ NOT NULL DEFAULT now(), applied_steps_count INTEGER NOT NULL DEFAULT 0)`);
    for (const name of names) {
      await client.query(
        "INSERT INTO _prisma_migrations (id, checksum, migration_name, finished_at, applied_steps_count) VALUES (gen_random_uuid(), 'x', $1, now(), 1)",
        [name],
      );
    }
  }
  const errorOf = (work: Promise<unknown>): Promise<string> => work.then(() => "no error", String);
  const history = async (): Promise<unknown[]> => {
    const { rows } = await client.query<{ name: string; steps: number }>(
      "SELECT migration_name AS name, applied_steps_count AS steps FROM _prisma_migrations ORDER BY migration_name",
    );
    return rows.map(({ name, steps }) => `${name} ${steps}`);
  };

  it("is applied to an empty database, once", async () => {
    expect(await migrate(database.url)).to.include(baseline);
    expect(await migrate(database.url)).to.deep.equal([]);
    expect(await history()).to.include(`${baseline} 1`);
  });

  it("is recorded, not run, in a database with the complete development history", async () => {
    await migrateBefore("20261121000000_init", lastBefore);
    await client.query("INSERT INTO partners (id, name) VALUES ('kept', 'Kept')");
    expect(await migrate(database.url)).to.not.include(baseline);
    expect(await history()).to.include.members(["20261121000000_init 1", `${lastBefore} 1`, `${baseline} 0`]);
    expect((await client.query("SELECT FROM partners")).rowCount).to.equal(1);
    expect(
      (await client.query("SELECT FROM pg_namespace WHERE nspname = 'joypod_baseline'")).rowCount,
    ).to.equal(0);
    expect(await migrate(database.url)).to.deep.equal([]);
  });

  it("is recorded once when several processes upgrade at the same time", async () => {
    await migrateBefore(lastBefore);
    await Promise.all([1, 2, 3].map(() => migrate(database.url)));
    expect((await history()).filter((line) => String(line).startsWith(baseline))).to.have.length(1);
  });

  it("stops at an incomplete development history and changes nothing", async () => {
    await migrateBefore("20261121000000_init", "20261125190000_composed_names");
    expect(await errorOf(migrate(database.url))).to.equal(
      "Error: this database was last migrated by 20261125190000_composed_names, which this version of Joypod cannot upgrade. Give Joypod an empty database, or restore a backup of one that was created by 0.1.0 or later",
    );
    expect(await history()).to.have.length(2);
  });

  it("stops at the history of another program", async () => {
    await migrateBefore("20300101000000_theirs");
    expect(await errorOf(migrate(database.url))).to.include("last migrated by 20300101000000_theirs");
  });

  for (const [what, change, difference] of [
    ["lacks a column", "ALTER TABLE users DROP COLUMN image", "missing column users.image"],
    ["has another table", "CREATE TABLE theirs (id int)", "unexpected relation theirs"],
    [
      "has another column type",
      "ALTER TABLE users ALTER COLUMN name TYPE varchar(10)",
      "missing column users.name text",
    ],
    ["lacks an index", "DROP INDEX games_catalog_found", "missing CREATE INDEX games_catalog_found"],
    [
      "lacks a constraint",
      "ALTER TABLE save_slots DROP CONSTRAINT save_slots_number",
      "missing constraint save_slots.save_slots_number",
    ],
    [
      "has a disabled trigger",
      "ALTER TABLE games DISABLE TRIGGER games_search_text",
      "missing CREATE TRIGGER games_search_text",
    ],
    [
      "has another function",
      "CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$",
      "missing function refuse_change()",
    ],
    [
      "has another enum value",
      "ALTER TYPE game_network ADD VALUE 'other'",
      "unexpected enum game_network.other",
    ],
  ] as const) {
    it(`stops at a complete history whose schema ${what} and changes nothing`, async () => {
      await migrateBefore(lastBefore);
      await client.query(change);
      expect(await errorOf(migrate(database.url)))
        .to.match(/^Error: the schema of this database differs from the one that its migrations make: /)
        .and.to.include(difference)
        .and.to.include("Nothing was changed.");
      expect(await history()).to.deep.equal([`${lastBefore} 1`]);
    });
  }
});

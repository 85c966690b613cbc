import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "chai";
import pg from "pg";
import { migrate } from "#api/stores/migrations.ts";
import { temporaryFolder } from "#test/support/processes/temporaryFolder.ts";
import { createEmptyDatabase, type TestDatabase } from "#test/support/stores/postgres.ts";

const messageOf = (work: Promise<unknown>): Promise<string> => work.then(() => "no error", String);

describe("migrations", function () {
  this.timeout(60_000);
  let database: TestDatabase;
  let client: pg.Client;
  let folder: string;

  beforeEach(async () => {
    database = await createEmptyDatabase();
    client = new pg.Client({ connectionString: database.url });
    await client.connect();
    folder = temporaryFolder("migrations");
  });
  afterEach(async () => {
    await client.end();
    await database.drop();
  });

  const write = async (name: string, script: string): Promise<void> => {
    await mkdir(join(folder, name), { recursive: true });
    await writeFile(join(folder, name, "migration.sql"), script);
  };
  const history = async (): Promise<unknown[]> => {
    const { rows } = await client.query<
      Record<"name" | "steps" | "finished" | "rolledBack", unknown>
    >(`SELECT migration_name AS name, applied_steps_count AS steps,
      finished_at >= started_at AS finished, rolled_back_at IS NOT NULL AS "rolledBack" FROM _prisma_migrations ORDER BY started_at, finished_at`);
    return rows;
  };

  it("are applied in the order of their names, once, even by concurrent processes", async () => {
    await write("1_made", "CREATE TABLE made (id int)");
    await write("2_filled", "INSERT INTO made VALUES (1)");
    const applied = await Promise.all([1, 2, 3].map(() => migrate(database.url, folder)));
    expect(applied.filter(({ length }) => length > 0)).to.deep.equal([["1_made", "2_filled"]]);
    expect((await client.query("SELECT count(*)::int FROM made")).rows).to.deep.equal([{ count: 1 }]);
    await write("3_filled", "INSERT INTO made VALUES (2)");
    expect(await migrate(database.url, folder)).to.deep.equal(["3_filled"]);
    expect(await migrate(database.url, folder)).to.deep.equal([]);
  });

  it("leave nothing behind when they fail, name the failed one, keep earlier ones, and can be retried", async () => {
    await write("1_made", "CREATE TABLE made (id int PRIMARY KEY)");
    await write(
      "2_broken",
      "INSERT INTO made VALUES (1); CREATE FUNCTION one() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN 1; END; $$; INSERT INTO made VALUES (1);",
    );
    expect(await messageOf(migrate(database.url, folder))).to.match(
      /^Error: the migration 2_broken failed and changed nothing: duplicate key/,
    );
    expect((await client.query("SELECT FROM made")).rowCount).to.equal(0);
    await write("2_broken", "INSERT INTO made VALUES (1)");
    expect(await migrate(database.url, folder)).to.deep.equal(["2_broken"]);
  });

  it("are recorded as Prisma's own tool records them", async () => {
    await write("1_made", "CREATE TABLE made (id int)");
    await migrate(database.url, folder);
    expect(await history()).to.deep.equal([{ name: "1_made", steps: 1, finished: true, rolledBack: false }]);
    const sha256 = "cee254aaa03c5824"; // So begins what `sha256sum` says of "CREATE TABLE made (id int)".
    expect(
      (
        await client.query<{ checksum: string }>(
          "SELECT checksum FROM _prisma_migrations WHERE migration_name = '1_made'",
        )
      ).rows[0]?.checksum.slice(0, 16),
    ).to.equal(sha256);
  });

  it("are refused if they were edited after they were applied; those of a newer release are ignored", async () => {
    await write("1_made", "CREATE TABLE made (id int)");
    await write("2_newer", "CREATE TABLE newer (id int)");
    await migrate(database.url, folder);
    const older = folder;
    folder = temporaryFolder("migrations");
    await write("1_made", "CREATE TABLE made (id int)");
    expect(await migrate(database.url, folder)).to.deep.equal([]);
    await write("1_made", "CREATE TABLE made (id bigint)");
    expect(await messageOf(migrate(database.url, folder))).to.include("applied in a different form: 1_made");
    expect(await migrate(database.url, older)).to.deep.equal([]);
  });

  it("change no database with tables of another program", async () => {
    await client.query("CREATE TABLE theirs (id int)");
    expect(await messageOf(migrate(database.url))).to.equal(
      "Error: the schema public of this database contains tables that are not Joypod's: give Joypod a separate database",
    );
    expect(
      (await client.query("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")).rows,
    ).to.deep.equal([{ tablename: "theirs" }]);
  });
});

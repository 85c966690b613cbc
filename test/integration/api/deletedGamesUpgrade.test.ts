import { cp, readdir } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "chai";
import pg from "pg";
import { fileURLToPath } from "node:url";
import { migrate } from "#api/stores/migrations.ts";
import { temporaryFolder } from "#test/support/processes/temporaryFolder.ts";
import { createEmptyDatabase, type TestDatabase } from "#test/support/stores/postgres.ts";

const migrations = fileURLToPath(new URL("../../../api/prisma/migrations", import.meta.url));
const deletedGamesMigration = "20261127220000_deleted_with_their_game";

/** A game that is there, and one whose deletion did not see what had become current while it waited. */
const formerRows = `
  INSERT INTO partners (id, name) VALUES ('partner', 'Partner');
  INSERT INTO games (id, partner_id, slug, title, developer, launcher, engine_dir, deleted_at) VALUES
    ('there', 'partner', 'there', 'There', 'Studio', 'run.sh', 'engine', NULL),
    ('deleted', 'partner', 'deleted', 'Deleted', 'Studio', 'run.sh', 'engine', '2026-10-02T00:00:00Z');
  INSERT INTO game_versions (id, game_id, object_key, sha256, size_bytes, unpacked_size_bytes, superseded_at) VALUES
    ('current', 'there', 'archives/there/current.tar.gz', repeat('a', 64), 1, 1, NULL),
    ('missed', 'deleted', 'archives/deleted/missed.tar.gz', repeat('b', 64), 1, 1, NULL),
    ('replaced', 'deleted', 'archives/deleted/replaced.tar.gz', repeat('c', 64), 1, 1, '2026-10-01T00:00:00Z');
  INSERT INTO game_pictures (id, game_id, sha256, type, size_bytes, width, height, superseded_at) VALUES
    ('current', 'there', repeat('a', 64), 'image/png', 1, 64, 64, NULL),
    ('missed', 'deleted', repeat('b', 64), 'image/png', 1, 64, 64, NULL),
    ('replaced', 'deleted', repeat('c', 64), 'image/png', 1, 64, 64, '2026-10-01T00:00:00Z');`;

describe("a database whose deleted games have kept current archives and pictures", function () {
  this.timeout(60_000);
  let database: TestDatabase;
  let client: pg.Client;

  before(async () => {
    database = await createEmptyDatabase();
    client = new pg.Client({ connectionString: database.url });
    await client.connect();
  });
  after(async () => {
    await client.end();
    await database.drop();
  });

  it("has them superseded by the deletion, and nothing else, after the upgrade", async () => {
    const folder = temporaryFolder("migrations");
    const names = (await readdir(migrations, { withFileTypes: true }))
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name);
    for (const name of names.filter((each) => each < deletedGamesMigration))
      await cp(join(migrations, name), join(folder, name), { recursive: true });
    await migrate(database.url, folder);
    await client.query(formerRows);
    expect(await migrate(database.url)).to.include(deletedGamesMigration);
    for (const table of ["game_versions", "game_pictures"]) {
      const { rows } = await client.query<{ id: string; supersededAt: Date | null }>(
        `SELECT id, superseded_at AS "supersededAt" FROM ${table} ORDER BY id`,
      );
      expect(rows, table).to.deep.equal([
        { id: "current", supersededAt: null },
        { id: "missed", supersededAt: new Date("2026-10-02T00:00:00Z") },
        { id: "replaced", supersededAt: new Date("2026-10-01T00:00:00Z") },
      ]);
    }
  });
});

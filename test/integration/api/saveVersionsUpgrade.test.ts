import { readdir, readFile } from "node:fs/promises";
import { expect } from "chai";
import pg from "pg";
import { fileURLToPath } from "node:url";
import { GamesQuery } from "#contracts/http/catalog.ts";
import { listCatalogGames } from "#api/catalog/catalogQueries.ts";
import { releaseSlots } from "#api/gameSessions/recorder/releaseSlots.ts";
import { listSaveVersions } from "#api/saves/saveVersionQueries.ts";
import { aGameSessionSpec } from "#test/factories/gameSession.ts";
import { TestApi } from "#test/support/http/api.ts";
import { expectErrorResponse } from "#test/support/http/apiClient.ts";
import { operatorOf, type FakeOperator } from "#test/support/cluster/fakeOperator.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { createEmptyDatabase, type TestDatabase } from "#test/support/stores/postgres.ts";

const migrations = fileURLToPath(new URL("../../../api/prisma/migrations", import.meta.url));
const versionsMigration = "20261122210000_save_versions";

/**
 * A database of the release before versions, with a player who has a save, one that is awaited, and a game
 * that runs.
 */
const formerRows = `
  INSERT INTO users (id, email, name) VALUES ('player', 'player@example.test', 'Player');
  INSERT INTO partners (id, name) VALUES ('partner', 'Partner');
  INSERT INTO games (id, partner_id, slug, title, developer, tags, launcher, engine_dir)
    VALUES ('game', 'partner', 'the-game', 'Game', 'Cafe\u0301 ΝΟΤΟΣ', ARRAY['racing', 're\u0301tro'], 'run.sh', 'engine');
  INSERT INTO game_versions (id, game_id, object_key, sha256, size_bytes, unpacked_size_bytes) VALUES ('v1', 'game', 'archives/game/v1.tar.gz', repeat('a', 64), 1, 1);
  UPDATE games SET status = 'active', current_version_id = 'v1';
  INSERT INTO save_slots (id, user_id, game_id, number, label, object_key, sha256, bytes, generation, saved_by_session, sequence, attempt, pending_session) VALUES
    ('saved', 'player', 'game', 1, 'Playthrough 1', 'saves/saved/4-gs-before-7.2.tar.gz', repeat('b', 64), 100, 4, 'gs-before', 7, 2, NULL),
    ('awaited', 'player', 'game', 2, 'Playthrough 2', NULL, NULL, NULL, 0, NULL, 0, 0, 'gs-awaited'),
    ('played', 'player', 'game', 3, 'New playthrough', NULL, NULL, NULL, 0, NULL, 0, 0, NULL);
  INSERT INTO game_sessions (id, cr_name, user_id, game_id, version_id, slot_id, status, spec, idle_timeout_seconds, cr_created_at, ready_at, ended_at, recorded_at) VALUES
    ('gs-before', 'gs-before', 'player', 'game', 'v1', 'saved', 'stopped', '{}', 1800, now(), now(), now() - interval '1 day', now()),
    ('gs-awaited', 'gs-awaited', 'player', 'game', 'v1', 'awaited', 'stopped', '{}', 1800, now(), now(), now(), now()),
    ('gs-failed', 'gs-failed', 'player', 'game', 'v1', NULL, 'error', '{}', 1800, now(), NULL, now() - interval '1 day', now()),
    ('gs-played', 'gs-played', 'player', 'game', 'v1', 'played', 'running', '{}', 1800, now(), now(), NULL, NULL);
  UPDATE game_sessions SET peak_memory_mb = CASE id WHEN 'gs-before' THEN 700 ELSE 300 END;`;

/** What that release sends to the database when a session is launched, ends, and has its last save stored. */
const former = {
  launch: `INSERT INTO game_sessions (id, cr_name, user_id, game_id, version_id, slot_id, spec, idle_timeout_seconds, cr_created_at)
    VALUES ($1, $1, $2, 'game', 'v1', $3, $4, 1800, now())
    ON CONFLICT (user_id) WHERE status IN ('starting', 'running', 'stopping') DO NOTHING`,
  end: "UPDATE game_sessions SET status = 'stopped', ended_at = now(), recorded_at = now() WHERE id = $1",
  awaitSave:
    "UPDATE save_slots SET pending_session = $1 WHERE id = (SELECT slot_id FROM game_sessions WHERE id = $1)",
  unlock: "UPDATE save_slots SET pending_session = NULL WHERE pending_session = $1",
};

describe("a database of the release before versions", function () {
  this.timeout(60_000);
  let database: TestDatabase;
  let client: pg.Client;
  let api: TestApi;
  let operator: FakeOperator;

  before(async () => {
    database = await createEmptyDatabase();
    client = new pg.Client({ connectionString: database.url });
    await client.connect();
    const names = (await readdir(migrations, { withFileTypes: true }))
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name)
      .toSorted();
    for (const name of names.filter((each) => each < versionsMigration)) await apply(name);
    await client.query(formerRows);
    for (const name of names.filter((each) => each >= versionsMigration)) await apply(name);
    api = await TestApi.start({ kube: true, isLed: true, minio: true, database });
    operator = operatorOf(api);
  });
  after(async () => {
    await operator.removeNodes();
    await api.stop();
    await client.end();
    await database.drop();
  });

  async function apply(name: string): Promise<void> {
    await client.query(await readFile(`${migrations}/${name}/migration.sql`, "utf8"));
  }

  async function owners(): Promise<string[]> {
    const { rows } = await client.query<{ id: string }>(
      "SELECT id FROM game_sessions WHERE slot_released_at IS NULL ORDER BY id",
    );
    return rows.map(({ id }) => id);
  }

  it("has the names of games with composed letters, as they are searched for", async () => {
    const { developer, tags } = await api.deps.postgres.prisma.game.findUniqueOrThrow({
      where: { id: "game" },
    });
    expect({ developer, tags }).to.deep.equal({
      developer: "Caf\u00e9 ΝΟΤΟΣ",
      tags: ["racing", "r\u00e9tro"],
    });
  });

  it("has a name that ends in a sigma found, by an earlier release as well", async () => {
    const found = await listCatalogGames(
      api.deps.postgres.pool,
      "player",
      GamesQuery.parse({ search: "ΝΟΤΟΣ" }),
    );
    expect(found.total).to.equal(1);
    const { rows } = await client.query<{ id: string }>(
      `SELECT id FROM games WHERE search_text LIKE lower('%ΝΟΤΟΣ%' COLLATE "und-x-icu")`,
    );
    expect(rows).to.deep.equal([{ id: "game" }]);
  });

  it("knows the most memory that a game's sessions have used", async () => {
    const game = await api.deps.postgres.prisma.game.findUniqueOrThrow({ where: { id: "game" } });
    expect(game).to.include({ profileHighestMemoryMb: 700, profileMemoryFloorMb: null, memoryMb: null });
  });

  it("has each slot's save as its first version, and owners where a game runs or a save is awaited", async () => {
    const [version, ...others] = await listSaveVersions(api.deps.postgres.pool, [
      "saved",
      "awaited",
      "played",
    ]);
    expect(version).to.include({
      slotId: "saved",
      kind: "played",
      gameSession: "gs-before",
      objectKey: "saves/saved/4-gs-before-7.2.tar.gz",
      bytes: 100,
      generation: 4,
      sequence: 7,
      attempt: 2,
      supersededAt: null,
    });
    expect(others).to.be.empty;
    expect(await owners())
      .to.include.members(["gs-awaited", "gs-played"])
      .and.not.include.members(["gs-before", "gs-failed"]);
  });

  it("goes on beside processes of that release: what they launch owns its slot, and what they end gives it back", async () => {
    const [user, spec] = [
      { id: "player", name: "Player", email: "player@example.test" },
      JSON.stringify(aGameSessionSpec()),
    ];
    const node = await operator.addNode(10);
    await eventually(() =>
      api.deps.cluster.gameNodes.cache
        .list()
        .some(({ metadata, status }) => metadata.name === node && status?.capacity !== undefined),
    );
    await client.query(former.end, ["gs-played"]);
    await client.query(former.launch, ["gs-former", "player", "saved", spec]);
    expect(await owners()).to.include("gs-former");
    await client.query(former.end, ["gs-former"]);
    const launch = { gameSlug: "the-game", saveSlotId: "saved" };
    expectErrorResponse(await api.as(user).post("/api/game/launch", launch), 409, "conflict");
    await releaseSlots(api.deps);
    expect(await owners()).to.deep.equal([]);
    const response = await api.as(user).post("/api/game/launch", launch);
    expect(response.status, response.text).to.equal(202);
    const { sessionId } = response.json<{ sessionId: string }>();
    expect((await operator.session(sessionId)).spec.saveSlot).to.include({
      objectKey: "saves/saved/4-gs-before-7.2.tar.gz",
      generation: 4,
    });
  });

  it("is played on by processes of that release alone: the slot of a session that they ended is free to them, unless it waits for its save", async () => {
    await client.query(
      "INSERT INTO users (id, email, name) VALUES ('returned', 'returned@example.test', 'Returned')",
    );
    await client.query(
      "INSERT INTO save_slots (id, user_id, game_id, number, label) VALUES ('returned', 'returned', 'game', 1, 'Playthrough 1')",
    );
    const launch = async (id: string): Promise<unknown> =>
      client.query(former.launch, [id, "returned", "returned", JSON.stringify(aGameSessionSpec())]).then(
        ({ rowCount }) => rowCount,
        (error: unknown) => error,
      );
    expect(await launch("gs-first")).to.equal(1);
    await client.query(former.end, ["gs-first"]);
    expect(await launch("gs-second")).to.equal(1);
    expect(await owners())
      .to.include("gs-second")
      .and.not.include("gs-first");

    await client.query(former.end, ["gs-second"]);
    await client.query(former.awaitSave, ["gs-second"]);
    expect(await launch("gs-third")).to.have.property("constraint", "game_sessions_slot_owner");
    await client.query(former.unlock, ["gs-second"]);
    expect(await launch("gs-third")).to.equal(1);
    await client.query(former.end, ["gs-third"]);
  });
});

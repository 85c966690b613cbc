import { expect } from "chai";
import { listAuditRows, type AuditFilter } from "#api/audit/auditQueries.ts";
import { listRuns, sumRuns, type RunFilter } from "#api/gameSessions/runs/runQueries.ts";
import { countUnreadable } from "#api/saves/saveVersionQueries.ts";
import type { Queryable } from "#api/stores/queryable.ts";
import { aGame, aUser, type TestGame } from "#test/factories/catalog.ts";
import { visitedRows } from "#test/support/stores/visitedRows.ts";
import { TestApi } from "#test/support/http/api.ts";

/** Runs the statements of `work` and returns how many rows they visit. */
async function visitedBy(pool: Queryable, work: (db: Queryable) => Promise<unknown>): Promise<number> {
  let visited = 0;
  const query = async (
    statement: string | { text: string; values?: unknown[] },
    parameters: unknown[] = [],
  ): Promise<{ rows: never[] }> => {
    const { text, values = parameters } = typeof statement === "string" ? { text: statement } : statement;
    visited += await visitedRows(pool, text, values);
    return { rows: [] };
  };
  await work({ query } as unknown as Queryable);
  return visited;
}

describe("queries for few of many rows", function () {
  this.timeout(60_000);
  let api: TestApi;

  before(async () => {
    api = await TestApi.start();
    await api.deps.postgres.pool.query(`
      INSERT INTO audit_events (action, actor_kind, actor_id, subject_kind, subject_id)
      SELECT 'signIn.succeeded', 'user', 'user-' || n % 5000, 'game', 'game-' || n % 300 FROM generate_series(1, 50000) n`);
    await api.deps.postgres.pool.query(`
      INSERT INTO save_versions (slot_id, kind, object_key, sha256, bytes, generation, unreadable_at)
      SELECT 'slot-' || n / 10, 'played', 'saves/' || n, 'a', 1, 1, CASE WHEN n = 7 THEN now() END FROM generate_series(1, 20000) n`);
    await api.deps.postgres.pool.query("ANALYZE audit_events, save_versions");
  });
  after(() => api.stop());

  it("visit at most 200 of 50,000 audit events to list actions by and on a user", async () => {
    const principals = [
      { kind: "user", id: "user-17" },
      { kind: "account", id: "none" },
    ];
    const filter: AuditFilter = { since: undefined, principals, before: undefined, limit: 101 };
    expect(await visitedBy(api.deps.postgres.pool, (db) => listAuditRows(db, filter))).to.be.at.most(200);
    const rows = await listAuditRows(api.deps.postgres.pool, filter);
    expect(rows.map(({ actorId }) => actorId)).to.deep.equal(Array(10).fill("user-17"));
    expect(rows.map(({ id }) => Number(id))).to.deep.equal(
      rows.map(({ id }) => Number(id)).toSorted((a, b) => b - a),
    );
  });

  it("list the newest audit events first, in numeric order, and visit at most 200", async () => {
    const filter: AuditFilter = { since: undefined, principals: undefined, before: "10050", limit: 100 };
    expect((await listAuditRows(api.deps.postgres.pool, filter)).map(({ id }) => Number(id))).to.deep.equal(
      Array.from({ length: 100 }, (_, index) => 10_049 - index),
    );
    expect(await visitedBy(api.deps.postgres.pool, (db) => listAuditRows(db, filter))).to.be.at.most(200);
  });

  it("list an audit event once when its actor is also its subject", async () => {
    const own = { kind: "user", id: "narcissus" };
    await api.deps.postgres.pool.query(
      "INSERT INTO audit_events (action, actor_kind, actor_id, subject_kind, subject_id) VALUES ('user.passwordChanged', $1, $2, $1, $2)",
      [own.kind, own.id],
    );
    expect(
      await listAuditRows(api.deps.postgres.pool, {
        since: undefined,
        principals: [own],
        before: undefined,
        limit: 10,
      }),
    ).to.have.length(1);
  });

  describe("of the runs of a game", () => {
    const filter: RunFilter = {
      gameVersionId: undefined,
      from: undefined,
      to: undefined,
      failureReasons: undefined,
      after: undefined,
      limit: 21,
    };
    const rareVersion = "rare-version";
    let game: TestGame;

    before(async () => {
      game = await aGame(api.deps);
      const { pool } = api.deps.postgres;
      await pool.query(
        `INSERT INTO game_versions SELECT (jsonb_populate_record(v, jsonb_build_object('id', $2::text, 'object_key', $2::text))).*
          FROM game_versions v WHERE id = $1`,
        [game.versionId, rareVersion],
      );
      // One in each ten minutes; every thousandth crashed, and another one had the rare version.
      await pool.query(
        `INSERT INTO game_sessions (id, cr_name, user_id, game_id, version_id, status, spec, idle_timeout_seconds,
            started_at, cr_created_at, ready_at, ended_at, recorded_at, slot_released_at, failure_reason)
          SELECT id, id, $1, $2, CASE WHEN n % 1000 = 1 THEN $4 ELSE $3 END, 'stopped', '{}', 1800, at, at, at, at, at, at, CASE WHEN n % 1000 = 0 THEN 'GameCrashed' END
          FROM (SELECT n, 'gs-' || n AS id, timestamptz '2026-01-01Z' + n * interval '10 minutes' AS at FROM generate_series(1, 20000) n) runs`,
        [(await aUser(api.deps)).id, game.id, game.versionId, rareVersion],
      );
      await pool.query("ANALYZE game_sessions");
    });

    for (const [what, changes] of [
      ["the newest page", {}],
      ["a later page", { after: { startedAt: new Date("2026-03-01T00:00:00Z"), id: "gs-0" } }],
      ["a day's page", { from: "2026-02-01", to: "2026-02-01" }],
      ["crashed ones", { failureReasons: ["GameCrashed"] }],
      ["those of a rare version", { gameVersionId: rareVersion }],
    ] as const)
      it(`visit at most 200 of 20,000 for ${what}`, async () => {
        const { pool } = api.deps.postgres;
        const wanted = { ...filter, ...changes };
        expect(await listRuns(pool, game.id, wanted)).to.have.length.within(20, 21);
        expect(await visitedBy(pool, (db) => listRuns(db, game.id, wanted))).to.be.at.most(200);
      });

    it("visit a day's 144 for its totals", async () => {
      const { pool } = api.deps.postgres;
      const range = { from: "2026-02-01", to: "2026-02-01" };
      expect((await sumRuns(pool, game.id, range, ["GameCrashed"]))[0]).to.include({ plays: 144 });
      const visited = await visitedBy(pool, (db) => sumRuns(db, game.id, range, ["GameCrashed"]));
      expect(visited).to.be.at.most(1500);
    });
  });

  it("count unreadable saves without visiting the readable ones", async () => {
    expect(await visitedBy(api.deps.postgres.pool, countUnreadable)).to.be.at.most(10);
    expect(await countUnreadable(api.deps.postgres.pool)).to.equal(1);
  });
});

import { expect } from "chai";
import { listAuditRows, type AuditFilter } from "#api/audit/auditQueries.ts";
import { countUnreadable } from "#api/saves/saveVersionQueries.ts";
import type { Queryable } from "#api/stores/queryable.ts";
import { TestApi } from "#test/support/http/api.ts";

/** The plan of each statement that the work asks for, in place of its rows. */
async function plansOf(pool: Queryable, work: (db: Queryable) => Promise<unknown>): Promise<string> {
  const plans: string[] = [];
  const query = async (
    statement: string | { text: string; values?: unknown[] },
    values: unknown[] = [],
  ): Promise<{ rows: never[] }> => {
    const [text, given] =
      typeof statement === "string" ? [statement, values] : [statement.text, statement.values ?? []];
    const { rows } = await pool.query<{ "QUERY PLAN": string }>(`EXPLAIN ${text}`, given);
    plans.push(...rows.map((row) => row["QUERY PLAN"]));
    return { rows: [] };
  };
  await work({ query } as unknown as Queryable);
  return plans.join("\n");
}

describe("looking for what is rare among what is much", function () {
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

  it("finds what somebody did, and what was done to them, by the trail's indexes", async () => {
    const principals = [
      { kind: "user", id: "user-17" },
      { kind: "account", id: "none" },
    ];
    const filter: AuditFilter = { since: undefined, principals, before: undefined, limit: 101 };
    const plan = await plansOf(api.deps.postgres.pool, (db) => listAuditRows(db, filter));
    expect(plan)
      .to.contain("audit_events_actor_kind_actor_id_at_idx")
      .and.contain("audit_events_subject_kind_subject_id_at_idx")
      .and.not.contain("Seq Scan");
    const rows = await listAuditRows(api.deps.postgres.pool, filter);
    expect(rows.map(({ actorId }) => actorId)).to.deep.equal(Array(10).fill("user-17"));
    expect(rows.map(({ id }) => Number(id))).to.deep.equal(
      rows.map(({ id }) => Number(id)).toSorted((a, b) => b - a),
    );
  });

  it("shows the newest events first, by their number and not by its digits", async () => {
    const filter: AuditFilter = { since: undefined, principals: undefined, before: "10050", limit: 100 };
    expect((await listAuditRows(api.deps.postgres.pool, filter)).map(({ id }) => Number(id))).to.deep.equal(
      Array.from({ length: 100 }, (_, index) => 10_049 - index),
    );
    expect(await plansOf(api.deps.postgres.pool, (db) => listAuditRows(db, filter))).to.contain(
      "audit_events_pkey",
    );
  });

  it("shows an event once that somebody did to themselves", async () => {
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

  it("counts unreadable saves without a look at those that can be read", async () => {
    const plan = await plansOf(api.deps.postgres.pool, countUnreadable);
    expect(plan).to.contain("save_versions_unreadable").and.not.contain("Seq Scan");
    expect(await countUnreadable(api.deps.postgres.pool)).to.equal(1);
  });
});

import type { Queryable } from "#api/stores/queryable.ts";

interface PlanNode {
  "Relation Name"?: string;
  "Index Name"?: string;
  "Actual Rows": number;
  "Actual Loops": number;
  "Rows Removed by Filter"?: number;
  "Rows Removed by Index Recheck"?: number;
  Plans?: PlanNode[];
}

/** Runs a statement and returns how many rows of tables and indexes Postgres visits for it. */
export async function visitedRows(db: Queryable, text: string, values: unknown[] = []): Promise<number> {
  const { rows } = await db.query<{ "QUERY PLAN": { Plan: PlanNode }[] }>(
    `EXPLAIN (ANALYZE, FORMAT JSON) ${text}`,
    values,
  );
  return rows.flatMap((row) => row["QUERY PLAN"]).reduce((sum, { Plan }) => sum + visitedIn(Plan), 0);
}

function visitedIn(node: PlanNode): number {
  const isScan = node["Relation Name"] !== undefined || node["Index Name"] !== undefined;
  const rows =
    node["Actual Rows"] +
    (node["Rows Removed by Filter"] ?? 0) +
    (node["Rows Removed by Index Recheck"] ?? 0);
  return (
    (isScan ? rows * node["Actual Loops"] : 0) +
    (node.Plans ?? []).reduce((sum, below) => sum + visitedIn(below), 0)
  );
}

import { createHash } from "node:crypto";
import type pg from "pg";

/** A migration in the repository. */
export interface Migration {
  name: string;
  script: string;
  /** SHA-256 of the script, as Prisma computes it. */
  checksum: string;
}

/** The last migration of the development history that the baseline replaces. */
const lastBeforeBaseline = "20261128020000_sigmas";
const scratchSchema = "joypod_baseline";
const differencesShown = 5;
const advice = "Give Joypod an empty database, or restore a backup of one that was created by 0.1.0 or later";

/** Returns a migration with its checksum. */
export function migrationOf(name: string, script: string): Migration {
  return { name, script, checksum: createHash("sha256").update(script).digest("hex") };
}

/**
 * Records the baseline as applied, without running it, in a database with the complete development history
 * before 0.1.0.
 *
 * @throws Error when the history is incomplete or the schema differs from the baseline
 */
export async function recordBaseline(
  client: pg.Client,
  baseline: Migration,
  applied: readonly string[],
): Promise<void> {
  const last = applied.toSorted().at(-1);
  if (last !== lastBeforeBaseline) {
    throw new Error(
      `this database was last migrated by ${String(last)}, which this version of Joypod cannot upgrade. ${advice}`,
    );
  }
  const differences = await compareWithBaseline(client, baseline);
  if (differences.length > 0) {
    const more =
      differences.length > differencesShown ? `; ${differences.length - differencesShown} more` : "";
    throw new Error(
      `the schema of this database differs from the one that its migrations make: ${differences.slice(0, differencesShown).join("; ")}${more}. Nothing was changed. Undo the differences, or: ${advice}`,
    );
  }
  // As `prisma migrate resolve --applied` records it: no step of the script ran here.
  await client.query(
    `INSERT INTO _prisma_migrations (id, checksum, migration_name, started_at, finished_at, applied_steps_count)
    VALUES (gen_random_uuid(), $1, $2, now(), now(), 0)`,
    [baseline.checksum, baseline.name],
  );
}

/**
 * Returns the differences between the current schema and that of the baseline. The baseline runs in a scratch
 * schema of a transaction that is rolled back, so the same server prints both schemas in the same form.
 */
async function compareWithBaseline(client: pg.Client, { script }: Migration): Promise<string[]> {
  const actual = await describeSchema(client);
  await client.query("BEGIN");
  try {
    await client.query(`CREATE SCHEMA ${scratchSchema}`);
    // Extensions stay visible behind the scratch schema.
    await client.query(
      `SELECT set_config('search_path', '${scratchSchema}, ' || current_setting('search_path'), true)`,
    );
    await client.query(script);
    const expected = await describeSchema(client);
    return [
      ...[...expected].filter((object) => !actual.has(object)).map((object) => `missing ${object}`),
      ...[...actual].filter((object) => !expected.has(object)).map((object) => `unexpected ${object}`),
    ];
  } finally {
    await client.query("ROLLBACK");
  }
}

/**
 * Returns a line for each object of the current schema, except those of extensions and of the migration
 * history.
 */
async function describeSchema(client: pg.Client): Promise<Set<string>> {
  const { rows } = await client.query<{ object: string }>(schemaQuery);
  return new Set(rows.map(({ object }) => object));
}

/**
 * The pretty forms of the `pg_get_…` functions omit the name of a schema in the search path. NOT NULL
 * constraints are described with their column, because only Postgres 18 and later store them by name.
 */
const schemaQuery = `
WITH relation AS (
  SELECT c.oid, c.relname, c.relkind FROM pg_class c
  WHERE c.relnamespace = current_schema()::regnamespace AND c.relname NOT LIKE '\\_prisma\\_migrations%'
    AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e')
)
SELECT format('column %s.%s %s %s %s %s', relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attcollation::regcollation,
    CASE WHEN a.attnotnull THEN 'NOT NULL' ELSE 'NULL' END, a.attgenerated::text || ' ' || pg_get_expr(d.adbin, d.adrelid, true)) AS object
  FROM relation JOIN pg_attribute a ON a.attrelid = relation.oid AND a.attnum > 0 AND NOT a.attisdropped
    LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
  WHERE relkind IN ('r', 'p', 'v', 'm', 'f')
UNION ALL
SELECT format('%s %s', CASE relkind WHEN 'S' THEN 'sequence' ELSE 'relation' END, relname) FROM relation WHERE relkind <> 'i'
UNION ALL
SELECT pg_get_indexdef(relation.oid, 0, true) FROM relation WHERE relkind = 'i'
UNION ALL
SELECT format('constraint %s.%s %s', relname, conname, pg_get_constraintdef(c.oid, true))
  FROM relation JOIN pg_constraint c ON c.conrelid = relation.oid WHERE contype <> 'n'
UNION ALL
SELECT format('%s %s', pg_get_triggerdef(t.oid, true), t.tgenabled::text)
  FROM relation JOIN pg_trigger t ON t.tgrelid = relation.oid WHERE NOT t.tgisinternal
UNION ALL
SELECT format('function %s %s %s %s', p.oid::regprocedure, pg_get_function_result(p.oid), p.provolatile::text,
    coalesce(pg_get_function_sqlbody(p.oid), p.prosrc))
  FROM pg_proc p WHERE p.pronamespace = current_schema()::regnamespace
    AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')
UNION ALL
SELECT format('enum %s.%s %s', t.typname, e.enumlabel, rank() OVER (PARTITION BY t.oid ORDER BY e.enumsortorder))
  FROM pg_type t JOIN pg_enum e ON e.enumtypid = t.oid WHERE t.typnamespace = current_schema()::regnamespace`;

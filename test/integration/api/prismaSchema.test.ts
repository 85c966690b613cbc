import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { expect } from "chai";
import pg from "pg";
import { createTestDatabase, type TestDatabase } from "#test/support/stores/postgres.ts";

const schemaFile = fileURLToPath(new URL("../../../api/prisma/schema.prisma", import.meta.url));

/** Columns that only migrations can express, and that Prisma's client does not use. */
const columnsOfMigrations = ["games.title_key", "games.search_text", "games.tag_keys"];

const sqlTypes: Readonly<Record<string, string>> = {
  String: "text",
  Int: "integer",
  BigInt: "bigint",
  Float: "double precision",
  Boolean: "boolean",
  Json: "jsonb",
  Bytes: "bytea",
  "@db.SmallInt": "smallint",
  "@db.Date": "date",
  "@db.Timestamptz(3)": "timestamp(3) with time zone",
};

interface Block {
  kind: string;
  name: string;
  /** As the database names it. */
  table: string;
  lines: string[];
}

/** Returns the models and enums of a Prisma schema, with their lines and without comments. */
function blocksOf(schema: string): Block[] {
  return [...schema.matchAll(/^(model|enum) (\w+) \{\n(.*?)^\}/gms)].map(
    ([, kind = "", name = "", body = ""]) => ({
      kind,
      name,
      table: /@@map\("(\w+)"\)/.exec(body)?.[1] ?? name,
      lines: body
        .split("\n")
        .map((line) => line.trim())
        .filter((line) => line !== "" && !line.startsWith("//")),
    }),
  );
}

const columnName = (line: string): string => / @map\("(\w+)"\)/.exec(line)?.[1] ?? line.split(/\s+/)[0]!;

/** Returns a line for each column, key, index and enum value that the database must have. */
function expectedObjects(blocks: readonly Block[]): string[] {
  const enums = new Map(
    blocks.filter(({ kind }) => kind === "enum").map((block) => [block.name, block.table]),
  );
  const models = new Map(blocks.filter(({ kind }) => kind === "model").map((block) => [block.name, block]));
  return blocks.flatMap((block) =>
    block.kind === "enum"
      ? block.lines.filter((line) => !line.startsWith("@@")).map((value) => `enum ${block.table} ${value}`)
      : objectsOfModel(block, models, enums),
  );
}

function objectsOfModel(
  { table, lines }: Block,
  models: ReadonlyMap<string, Block>,
  enums: ReadonlyMap<string, string>,
): string[] {
  const fields = lines.filter((line) => !line.startsWith("@@"));
  const columnOf = (field: string): string =>
    columnName(fields.find((line) => line.startsWith(`${field} `))!);
  const columns = (list: string): string => list.split(/,\s*/).map(columnOf).join(", ");
  const objects: string[] = [];
  for (const line of fields) {
    const [, type = "", suffix = ""] = line.split(/\s+/)[1]!.match(/^(\w+)([?]|\[\])?$/)!;
    const relation = /@relation\([^)]*fields: \[([^\]]+)\], references: \[(\w+)\], onDelete: (\w+)\)/.exec(
      line,
    );
    if (relation !== null) {
      const [, from = "", , action = ""] = relation;
      objects.push(
        `key ${table} FOREIGN KEY (${columns(from)}) REFERENCES ${models.get(type)!.table}(id) ON UPDATE CASCADE ON DELETE ${action === "SetNull" ? "SET NULL" : action.toUpperCase()}`,
      );
    }
    if (models.has(type)) continue;
    const native = /@db\.\w+(?:\(\d+\))?/.exec(line)?.[0];
    const sql = native === undefined ? (enums.get(type) ?? sqlTypes[type]!) : sqlTypes[native]!;
    const isNullable = suffix !== ""; // Prisma makes lists without NOT NULL.
    objects.push(
      `column ${table}.${columnName(line)} ${sql}${suffix === "[]" ? "[]" : ""} ${isNullable ? "NULL" : "NOT NULL"} ${defaultOf(line)}`,
    );
    if (/ @id\b/.test(line)) objects.push(`key ${table} PRIMARY KEY (${columnName(line)})`);
    if (/ @unique\b/.test(line)) objects.push(`index ${table} UNIQUE (${columnName(line)})`);
  }
  for (const line of lines) {
    const [, what, list = ""] = /^@@(id|unique|index)\(\[([^\]]+)\]\)$/.exec(line) ?? [];
    if (what === "id") objects.push(`key ${table} PRIMARY KEY (${columns(list)})`);
    if (what === "unique") objects.push(`index ${table} UNIQUE (${columns(list)})`);
    if (what === "index") objects.push(`index ${table} (${columns(list)})`);
  }
  return objects;
}

/** Returns a column's default in a form that both sides can be brought to. */
function defaultOf(line: string): string {
  const value = /@default\((dbgenerated\("(.*)"\)|(?:[^()]|\(\))*)\)/.exec(line);
  if (value === null) return "-";
  const [, text = "", sql] = value;
  if (sql !== undefined) return sql;
  if (text === "autoincrement()") return "nextval";
  if (text === "[]") return "ARRAY[]";
  return text.replace(/^"(.*)"$/, "$1");
}

async function actualObjects(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ object: string }>(`
    WITH relation AS (SELECT oid, relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' AND relname <> '_prisma_migrations')
    SELECT format('column %s.%s %s %s %s', relname, attname, format_type(atttypid, atttypmod), CASE WHEN attnotnull THEN 'NOT NULL' ELSE 'NULL' END,
        CASE WHEN expression IS NULL THEN '-' WHEN expression = 'CURRENT_TIMESTAMP' THEN 'now()' WHEN expression LIKE 'nextval(%' THEN 'nextval'
          WHEN expression LIKE 'ARRAY[]::%' THEN 'ARRAY[]' ELSE regexp_replace(expression, '^''(.*)''::\\w+$', '\\1') END) AS object
      FROM relation JOIN pg_attribute a ON attrelid = oid AND attnum > 0 AND NOT attisdropped
        LEFT JOIN LATERAL (SELECT pg_get_expr(adbin, adrelid) AS expression FROM pg_attrdef WHERE adrelid = attrelid AND adnum = attnum) d ON true
    UNION ALL
    SELECT format('key %s %s', relname, pg_get_constraintdef(c.oid, true)) FROM relation JOIN pg_constraint c ON conrelid = relation.oid WHERE contype IN ('p', 'f')
    UNION ALL
    SELECT format('index %s %s(%s)', relname, CASE WHEN indisunique THEN 'UNIQUE ' ELSE '' END,
        (SELECT string_agg(pg_get_indexdef(indexrelid, position::int, true), ', ' ORDER BY position) FROM generate_series(1, indnkeyatts) AS position))
      FROM relation JOIN pg_index ON indrelid = oid WHERE NOT indisprimary AND indpred IS NULL AND indnatts = indnkeyatts
    UNION ALL
    SELECT format('enum %s %s', typname, enumlabel) FROM pg_enum JOIN pg_type t ON enumtypid = t.oid WHERE typnamespace = current_schema()::regnamespace`);
  return rows
    .map(({ object }) => object)
    .filter((object) => !columnsOfMigrations.some((column) => object.startsWith(`column ${column} `)));
}

describe("schema.prisma", function () {
  this.timeout(60_000);
  let database: TestDatabase;
  let client: pg.Client;

  before(async () => {
    database = await createTestDatabase();
    client = new pg.Client({ connectionString: database.url });
    await client.connect();
  });
  after(async () => {
    await client.end();
    await database.drop();
  });

  it("matches the schema of the migrations", async () => {
    const expected = expectedObjects(blocksOf(await readFile(schemaFile, "utf8")));
    const actual = await actualObjects(client);
    expect(expected).to.have.length.greaterThan(200);
    expect(actual.toSorted()).to.deep.equal(expected.toSorted());
  });

  for (const [what, change] of [
    ["a column that only the database has", "ALTER TABLE users ADD COLUMN other text"],
    ["another type", "ALTER TABLE users ALTER COLUMN name TYPE varchar(9)"],
    ["another default", "ALTER TABLE games ALTER COLUMN popularity SET DEFAULT 1"],
    ["a dropped index", "DROP INDEX partner_keys_partner_id_idx"],
    ["a dropped foreign key", "ALTER TABLE identities DROP CONSTRAINT identities_user_id_fkey"],
  ] as const) {
    it(`is found to differ by ${what}`, async () => {
      const expected = expectedObjects(blocksOf(await readFile(schemaFile, "utf8")));
      await client.query("BEGIN");
      await client.query(change);
      expect((await actualObjects(client)).toSorted()).to.not.deep.equal(expected.toSorted());
      await client.query("ROLLBACK");
    });
  }
});

import type pg from "pg";
import type { ColumnKind } from "./sqlStatements.ts";

/** A column that a statement returns. */
export interface DescribedColumn {
  name: string;
  kind: ColumnKind;
  /** True for a nullable table column; false for computed columns. */
  isNullable: boolean;
}

interface FieldDescription {
  name: string;
  tableID: number;
  columnID: number;
  dataTypeID: number;
}

/**
 * Returns the columns of a statement, which is parsed but not run.
 *
 * @throws The database's error.
 */
export async function describeStatement(client: pg.Client, text: string): Promise<DescribedColumn[]> {
  const fields = await new Promise<FieldDescription[]>((resolve, reject) => {
    client.query(new DescribeQuery(text, resolve, reject));
  });
  const columns: DescribedColumn[] = [];
  for (const { name, tableID, columnID, dataTypeID } of fields)
    columns.push({
      name,
      kind: await kindOf(client, dataTypeID),
      isNullable: tableID !== 0 && (await isColumnNullable(client, tableID, columnID)),
    });
  return columns;
}

/** Describes a statement with the extended protocol. */
class DescribeQuery implements pg.Submittable {
  readonly #text: string;
  readonly #resolve: (fields: FieldDescription[]) => void;
  readonly #reject: (error: Error) => void;
  #fields: FieldDescription[] = [];
  #error: Error | undefined;

  constructor(text: string, resolve: (fields: FieldDescription[]) => void, reject: (error: Error) => void) {
    this.#text = text;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  submit(connection: pg.Connection): void {
    connection.parse({ name: "", text: this.#text, types: [] }, true);
    connection.describe({ type: "S", name: "" }, true);
    connection.sync();
  }

  handleRowDescription({ fields }: { fields: FieldDescription[] }): void {
    this.#fields = fields;
  }

  handleError(error: Error): void {
    this.#error = error;
  }

  handleReadyForQuery(): void {
    if (this.#error === undefined) this.#resolve(this.#fields);
    else this.#reject(this.#error);
  }
}

const kinds = new Map<string, ColumnKind>([
  ["bool", "boolean"],
  ["int2", "number"],
  ["int4", "number"],
  ["float4", "number"],
  ["float8", "number"],
  ["timestamptz", "Date"],
  ["timestamp", "Date"],
  ["json", "json"],
  ["jsonb", "json"],
  ["bytea", "Buffer"],
]);

const catalogTypes = new Map<number, Promise<ColumnKind>>();

/** Returns the kind that node-postgres returns for a type. Unknown types are strings. */
function kindOf(client: pg.Client, typeId: number): Promise<ColumnKind> {
  const known = catalogTypes.get(typeId) ?? readKind(client, typeId);
  catalogTypes.set(typeId, known);
  return known;
}

async function readKind(client: pg.Client, typeId: number): Promise<ColumnKind> {
  const {
    rows: [type],
  } = await client.query<{ name: string; element: string | null }>(
    `SELECT t.typname AS name, e.typname AS element FROM pg_type t
     LEFT JOIN pg_type e ON e.oid = t.typelem AND t.typcategory = 'A' WHERE t.oid = $1`,
    [typeId],
  );
  if (type === undefined) throw new Error(`The database has no type ${typeId}.`);
  return type.element === null
    ? (kinds.get(type.name) ?? "string")
    : `${kinds.get(type.element) ?? "string"}[]`;
}

async function isColumnNullable(client: pg.Client, table: number, column: number): Promise<boolean> {
  const { rows } = await client.query<{ isNullable: boolean }>(
    `SELECT NOT attnotnull AS "isNullable" FROM pg_attribute WHERE attrelid = $1 AND attnum = $2`,
    [table, column],
  );
  return rows[0]?.isNullable ?? false;
}

import { expect } from "chai";
import pg from "pg";
import { describeStatement, type DescribedColumn } from "#test/support/stores/describeStatement.ts";
import { toError } from "#runtime/errors.ts";
import { createTestDatabase, type TestDatabase } from "#test/support/stores/postgres.ts";
import { sqlStatementsOf, type RowField, type SqlStatement } from "#test/support/stores/sqlStatements.ts";

/** Put together from the request at run time; the tests of the catalogue run it in every form. */
const dynamicStatements = [
  "api/src/catalog/personalQueries.ts",
  "api/src/catalog/catalogQueries.ts",
  "api/src/catalog/invitedQueries.ts",
];
/**
 * Columns that their table allows to be null and this statement never returns as null, by function and
 * column.
 */
const neverNull = new Map([
  ["updateGameSessionExpiry.expiresAt", "GREATEST ignores null"],
  ["updateStreamConnection.expiresAt", "GREATEST ignores null"],
  ["updateGameSessionLeft.expiresAt", "LEAST ignores null"],
  ["findCatalogGame.tags", "Prisma lists have no NOT NULL, and every insert stores a list"],
  ["findCatalogGame.screenshots", "as for tags"],
  ["findCatalogGame.languages", "as for tags"],
  ["listUnreadable.unreadableAt", "the condition is IS NOT NULL"],
  ["updatePartnerKeyRevoked.revokedAt", "the statement sets it"],
  ["updateGameHidden.hiddenAt", "the statement sets it"],
  ["updateDeleteAt.deleteAt", "the statement sets it"],
  ["listUnreleasedGameSessions.endedAt", "recorded_at is only set together with ended_at"],
]);
/** The statements of a transaction and of a migration's own file are not read. */
const outside = ["api/src/stores/baseline.ts", "api/src/stores/migrations.ts", "api/src/stores/postgres.ts"];

describe("the API's SQL", function () {
  this.timeout(60_000);
  let database: TestDatabase;
  let client: pg.Client;
  let statements: SqlStatement[];

  before(async () => {
    statements = sqlStatementsOf("api/src").filter(
      ({ place }) => !outside.some((file) => place.startsWith(file)),
    );
    database = await createTestDatabase();
    client = new pg.Client({ connectionString: database.url });
    await client.connect();
  });

  after(async () => {
    await client.end();
    await database.drop();
  });

  it("is constant, except for the catalogue's pages", () => {
    expect(statements).to.have.lengthOf.above(100);
    const unknown = statements
      .filter(({ texts }) => texts === undefined)
      .map(({ place }) => place.split(":")[0]);
    expect(unknown).to.have.members(dynamicStatements);
  });

  it("matches the database's schema and the row types in the code", async () => {
    const problems: string[] = [];
    for (const { place, caller, texts = [], row } of statements) {
      for (const text of texts) {
        const problem = await describeStatement(client, text).then(
          (columns) => (row === undefined ? undefined : mismatch(caller, columns, row)),
          (error: unknown) => toError(error).message,
        );
        if (problem !== undefined) problems.push(`${place}: ${problem}`);
      }
    }
    expect(problems.join("\n")).to.equal("");
  });
});

/** Returns how a statement's columns differ from the row type; undefined when they agree. */
function mismatch(
  caller: string,
  columns: DescribedColumn[],
  row: Map<string, RowField>,
): string | undefined {
  const names = columns.map(({ name }) => name);
  const missing = [...row.keys()].filter((name) => !names.includes(name));
  if (missing.length > 0) return `the statement does not return ${missing.join(", ")}`;
  const unread = names.filter((name) => !row.has(name));
  if (unread.length > 0) return `the row type lacks ${unread.join(", ")}`;
  for (const { name, kind, isNullable } of columns) {
    const field = row.get(name);
    if (field === undefined) continue;
    const fits = kind === "json" || (field.kinds.length === 1 && field.kinds[0] === kind);
    if (!fits) return `${name} is ${kind}, and the row type has ${field.kinds.join(" | ")}`;
    if (isNullable && !field.isNullable && !neverNull.has(`${caller}.${name}`))
      return `${name} can be null, and the row type does not say so`;
  }
  return undefined;
}

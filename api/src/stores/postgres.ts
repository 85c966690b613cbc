import { PrismaPg } from "@prisma/adapter-pg";
import pg from "pg";
import type { Logger } from "#runtime/logger.ts";
import { toError } from "#runtime/errors.ts";
import { PrismaClient } from "../generated/client.ts";
import { isTimeout } from "./databaseFailure.ts";

/** The connections to the database. */
export interface Postgres {
  /** For SQL; see docs/decisions/0014. */
  pool: pg.Pool;
  /** For Prisma's queries; it shares the pool. */
  prisma: PrismaClient;
  /**
   * Runs `work` in one transaction and returns its result; any error rolls it back. `opening`, a statement
   * without parameters and results, is sent in the same round trip as BEGIN.
   */
  transaction<T>(work: (client: pg.PoolClient) => Promise<T>, opening?: string): Promise<T>;
  close(): Promise<void>;
}

/** The server aborts a transaction, and releases its locks, after this idle time in milliseconds. */
export const idleTransactionMs = 15_000;

/** Address and settings of the database. */
export interface PostgresOptions {
  url: string;
  poolSize: number;
  /** Statement timeout in milliseconds. */
  timeoutMs: number;
  logger: Logger;
}

/**
 * Opens the pool. Connections are opened on demand, so the program starts while the database is unavailable.
 */
export function connectPostgres({ url, poolSize, timeoutMs, logger }: PostgresOptions): Postgres {
  const pool = new pg.Pool({
    connectionString: url,
    max: poolSize,
    connectionTimeoutMillis: Math.min(3_000, timeoutMs),
    idleTimeoutMillis: 30_000,
    // The server cancels slow statements; the client times out a little later in case the server hangs.
    statement_timeout: timeoutMs,
    query_timeout: 1.2 * timeoutMs,
    idle_in_transaction_session_timeout: idleTransactionMs,
    keepAlive: true,
    application_name: "joypod",
  });
  pool.on("error", (error) => logger.warn({ err: error }, "An idle database connection broke."));
  // Longer messages quote the data.
  const prisma = new PrismaClient({ adapter: new PrismaPg(pool), errorFormat: "minimal" });
  return {
    pool,
    prisma,
    transaction: (work, opening) => transaction(pool, work, opening),
    close: async () => {
      await prisma.$disconnect();
      await pool.end();
    },
  };
}

async function transaction<T>(
  pool: pg.Pool,
  work: (client: pg.PoolClient) => Promise<T>,
  opening: string | undefined,
): Promise<T> {
  const client = await pool.connect();
  // While a connection is checked out the pool does not listen for its errors, and an error without a
  // listener ends the process. The affected statement throws the error, too.
  const ignore = (): void => undefined;
  client.on("error", ignore);
  let broken: Error | undefined;
  try {
    await client.query(opening === undefined ? "BEGIN" : `BEGIN; ${opening}`);
    const result = await work(client);
    await client.query("COMMIT");
    return result;
  } catch (error) {
    // A connection that cannot roll back is not returned to the pool. When it closes, the server rolls back.
    broken = isTimeout(error)
      ? toError(error)
      : await client.query("ROLLBACK").then(() => undefined, toError);
    throw error;
  } finally {
    client.off("error", ignore);
    client.release(broken);
  }
}

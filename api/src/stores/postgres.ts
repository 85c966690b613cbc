import { PrismaPg } from "@prisma/adapter-pg";
import pg from "pg";
import type { Logger } from "#runtime/logger.ts";
import { toError } from "#runtime/errors.ts";
import { PrismaClient } from "../generated/client.ts";
import { isUnanswered } from "./databaseFailure.ts";

/** The connections to the database. */
export interface Postgres {
  /** For SQL; docs/decisions/0014 says when. */
  pool: pg.Pool;
  /** For Prisma's queries; it shares the pool. */
  prisma: PrismaClient;
  /**
   * Runs `work` in one transaction and returns its result; any error rolls it back. `opening`, a statement
   * without parameters and results, goes with the transaction's begin in one round trip.
   */
  transaction<T>(work: (client: pg.PoolClient) => Promise<T>, opening?: string): Promise<T>;
  close(): Promise<void>;
}

/** The server aborts a transaction, and releases its locks, after this idle time in milliseconds. */
export const idleTransactionMs = 15_000;

/** Where the database is, and how it is used. */
export interface PostgresOptions {
  url: string;
  poolSize: number;
  /** The longest time that a statement may take. */
  timeoutMs: number;
  logger: Logger;
}

/**
 * Opens the pool. Connections are made when first needed, so a database that is unavailable does not hinder
 * the start.
 */
export function connectPostgres({ url, poolSize, timeoutMs, logger }: PostgresOptions): Postgres {
  const pool = new pg.Pool({
    connectionString: url,
    max: poolSize,
    connectionTimeoutMillis: Math.min(3_000, timeoutMs),
    idleTimeoutMillis: 30_000,
    // The server ends what takes too long; the client gives up a little later, on a server that hangs.
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
  // While a connection is checked out the pool does not listen for its errors, and an error that nothing
  // listens for ends the process. The statement that is hit throws the error, too.
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
    broken = isUnanswered(error)
      ? toError(error)
      : await client.query("ROLLBACK").then(() => undefined, toError);
    throw error;
  } finally {
    client.off("error", ignore);
    client.release(broken);
  }
}

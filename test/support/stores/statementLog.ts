import type { Pool, PoolClient } from "pg";

/** Records the database statements of the programs under test. */
export class StatementLog {
  readonly #statements: string[] = [];
  readonly #watched = new WeakSet<PoolClient>();

  constructor(pool: Pool) {
    pool.on("acquire", (client) => this.#watch(client));
  }

  /** Returns the names of the statements that `work` causes, or the texts of unnamed ones. */
  async during(work: () => Promise<unknown>): Promise<string[]> {
    const before = this.#statements.length;
    await work();
    return this.#statements.slice(before);
  }

  /** Returns the number of recorded statements whose name or text begins with `beginning`. */
  count(beginning: string): number {
    return this.#statements.filter((statement) => statement.startsWith(beginning)).length;
  }

  #watch(client: PoolClient): void {
    if (this.#watched.has(client)) return;
    this.#watched.add(client);
    const query = client.query.bind(client) as (...parameters: unknown[]) => unknown;
    const logged = (...parameters: unknown[]): unknown => {
      this.#statements.push(nameOf(parameters[0]));
      return query(...parameters);
    };
    client.query = logged as typeof client.query;
  }
}

function nameOf(statement: unknown): string {
  if (typeof statement === "string") return statement;
  const { name, text } = statement as { name?: string; text?: string };
  return name ?? text ?? "?";
}

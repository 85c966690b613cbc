/** How many games a search or a tag finds, and the revision of the catalogue in which they were counted. */
export interface KnownCount {
  revision: string;
  total: number;
}

const countsMax = 1_000;

/**
 * Remembers counts of many games, which take long. A count is right while the catalogue has its revision,
 * which the database compares; after that it still says that there were many.
 */
export class CatalogCounts {
  readonly #counts = new Map<string, KnownCount>();

  find(filter: string): KnownCount | undefined {
    return this.#counts.get(filter);
  }

  forget(filter: string): void {
    this.#counts.delete(filter);
  }

  keep(filter: string, count: KnownCount): void {
    this.#counts.delete(filter);
    this.#counts.set(filter, count);
    if (this.#counts.size <= countsMax) return;
    const oldest = this.#counts.keys().next();
    if (oldest.done !== true) this.#counts.delete(oldest.value);
  }
}

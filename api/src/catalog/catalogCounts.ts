/** How many games a search or a tag finds, and the catalogue's revision that it was counted in. */
export interface KnownCount {
  revision: string;
  total: number;
}

const countsMost = 1_000;

/**
 * Counts that took long to make. Each is right while the catalogue has its revision, which the database compares; after that it
 * still says that there were many.
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
    if (this.#counts.size <= countsMost) return;
    const oldest = this.#counts.keys().next();
    if (oldest.done !== true) this.#counts.delete(oldest.value);
  }
}

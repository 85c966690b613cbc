/**
 * Returns what `use` returns of a storage of the browser; undefined where there is none, which `storage`
 * throws for or returns null, and where it refuses, as a full one does.
 */
export function usingStorage<Items, Result>(
  storage: () => Items | null,
  use: (items: Items) => Result,
): Result | undefined {
  try {
    const items = storage();
    return items === null ? undefined : use(items);
  } catch {
    return undefined;
  }
}

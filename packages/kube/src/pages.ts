import type { ListOptions } from "./callOptions.ts";
import type { ListPage } from "./decode.ts";
import type { KubeObject, Stored } from "./object.ts";

const pageSize = 500;

/**
 * Reads a whole list in pages. Throws Gone when the snapshot expired on the way; what was read until then is
 * no list of any moment, so none of it is returned.
 */
export async function readPages<T extends KubeObject>(
  list: (options: ListOptions) => Promise<ListPage<T>>,
  options: ListOptions,
): Promise<{ items: Stored<T>[]; resourceVersion: string }> {
  let page = await list({ ...options, limit: pageSize });
  const items = [...page.items];
  while (page.continue !== undefined) {
    // The continue token carries the version; the server refuses both together.
    page = await list({
      ...options,
      resourceVersion: undefined,
      resourceVersionMatch: undefined,
      limit: pageSize,
      continue: page.continue,
    });
    items.push(...page.items);
  }
  return { items, resourceVersion: page.resourceVersion };
}

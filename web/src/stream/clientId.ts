import { randomId } from "../client/randomId.ts";

const storageKey = "joypod.streamClient";

/** The parts of a tab that its id depends on. */
export interface TabStore {
  storage: Pick<Storage, "getItem" | "setItem" | "removeItem">;
  page: EventTarget;
  randomId: () => string;
}

/**
 * Returns the id by which a streamer recognizes this tab after a reload. The id is in the tab's storage only between two pages:
 * a duplicated tab copies that storage, and would otherwise take the stream from the original without asking.
 */
export function takeClientId({ storage, page, randomId }: TabStore): string {
  const id = storage.getItem(storageKey) ?? randomId();
  storage.removeItem(storageKey);
  page.addEventListener("pagehide", () => storage.setItem(storageKey, id));
  page.addEventListener("pageshow", () => storage.removeItem(storageKey));
  return id;
}

let tabClientId: string | undefined;

/** Returns this tab's id. */
export function clientIdOfTab(): string {
  tabClientId ??= takeClientId({ storage: sessionStorage, page: window, randomId });
  return tabClientId;
}

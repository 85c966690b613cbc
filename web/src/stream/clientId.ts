import { randomId } from "../client/randomId.ts";

const storageKey = "joypod.streamClient";

/** The tab's storage and the page's events, as far as the identity needs them. */
export interface TabStore {
  storage: Pick<Storage, "getItem" | "setItem" | "removeItem">;
  page: EventTarget;
  randomId: () => string;
}

/**
 * The id by which a streamer knows this tab again after a reload. It lies in the tab's storage only between two pages: a
 * duplicated tab copies that storage, and would otherwise silently take the stream from the tab it was made of.
 */
export function takeClientId({ storage, page, randomId }: TabStore): string {
  const id = storage.getItem(storageKey) ?? randomId();
  storage.removeItem(storageKey);
  page.addEventListener("pagehide", () => storage.setItem(storageKey, id));
  page.addEventListener("pageshow", () => storage.removeItem(storageKey));
  return id;
}

let tabClientId: string | undefined;

/** This tab's id. */
export function clientIdOfTab(): string {
  tabClientId ??= takeClientId({ storage: sessionStorage, page: window, randomId });
  return tabClientId;
}

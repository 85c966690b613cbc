import { randomId, accessStorage } from "../client/browser.ts";

const storageKey = "joypod.streamClient";

type TabStorage = Pick<Storage, "getItem" | "setItem" | "removeItem">;

/** The parts of a tab that its id depends on. */
export interface TabStore {
  /** Throws, or returns null, in browsers without storage. */
  storage: () => TabStorage | null;
  page: EventTarget;
  randomId: () => string;
}

/**
 * Returns the id by which a streamer recognizes this tab after a reload. The id is in the tab's storage only
 * between two pages: a duplicated tab copies the storage, and would otherwise take the stream from the
 * original without asking. Without storage a reload changes the id, and the player is asked.
 */
export function takeClientId({ storage, page, randomId }: TabStore): string {
  const forget = (): void => accessStorage(storage, (items) => items.removeItem(storageKey));
  const id = accessStorage(storage, (items) => items.getItem(storageKey)) ?? randomId();
  forget();
  page.addEventListener("pagehide", () => accessStorage(storage, (items) => items.setItem(storageKey, id)));
  page.addEventListener("pageshow", forget);
  return id;
}

let tabClientId: string | undefined;

/** Returns this tab's id. */
export function readTabClientId(): string {
  tabClientId ??= takeClientId({ storage: () => sessionStorage, page: window, randomId });
  return tabClientId;
}

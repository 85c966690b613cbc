import type { Page } from "playwright-core";

/** Path of a page's connection. */
export interface ConnectionPath {
  state: string;
  /** Candidate type of the browser: `host`, `srflx`, `prflx` or `relay`. */
  local: string;
  /** Protocol to the browser's relay; empty without a relay. */
  relayProtocol: string;
  /** Address of the peer. */
  remote: string;
}

/**
 * Returns the path of the page's newest connection, or undefined if none is connected. The page must have the
 * script `connectionProbe`.
 */
export function connectionPathOf(page: Page): Promise<ConnectionPath | undefined> {
  return page.evaluate<ConnectionPath | undefined>("joypodConnection.path()");
}

import type { Page } from "playwright-core";

/** How the packets of a page's connection go. */
export interface ConnectionPath {
  state: string;
  /** Of the browser's own end: `host`, `srflx`, `prflx` or `relay`. */
  local: string;
  /** How the browser reaches its relay; empty without one. */
  relayProtocol: string;
  /** The other end's address. */
  remote: string;
}

/**
 * Returns how the packets of the page's newest connection go, undefined where none is connected; the page
 * must have the script `connectionProbe`.
 */
export function connectionPathOf(page: Page): Promise<ConnectionPath | undefined> {
  return page.evaluate<ConnectionPath | undefined>("joypodConnection.path()");
}

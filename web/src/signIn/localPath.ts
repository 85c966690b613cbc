import { parseUrl } from "../client/browser.ts";

/**
 * Returns the path of an address of this site, to go to after the sign-in. For every other address it returns
 * the catalogue's path, so that no link can lead a player to another site or back to the sign-in page.
 */
export function localPath(address: string | null, origin: string): string {
  const url = address === null ? undefined : parseUrl(address, origin);
  if (
    url?.origin !== origin ||
    url.pathname.startsWith("//") ||
    url.pathname === "/signin" ||
    url.pathname.startsWith("/api/")
  )
    return "/";
  return `${url.pathname}${url.search}${url.hash}`;
}

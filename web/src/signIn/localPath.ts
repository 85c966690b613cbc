import { parseUrl } from "../client/browser.ts";

/**
 * Returns the path of an address of this site, to open after the sign-in. For any other address it returns
 * the path of the catalogue, so that no link can lead to another site or back to the sign-in page.
 */
export function toLocalPath(address: string | null, origin: string): string {
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

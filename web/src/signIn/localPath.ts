/**
 * The path of a place on this site, for going there after the sign-in; the catalogue for everything else, so that nobody
 * can be led to another site, or in a circle, by a link.
 */
export function localPath(place: string | null, origin: string): string {
  if (place === null || !URL.canParse(place, origin)) return "/";
  const url = new URL(place, origin);
  if (url.origin !== origin || url.pathname.startsWith("//") || url.pathname === "/signin" || url.pathname.startsWith("/api/")) return "/";
  return `${url.pathname}${url.search}${url.hash}`;
}

const lengthMax = 2048;

/**
 * Returns the address to continue at after sign-in or sign-out: the requested one if its origin is allowed,
 * otherwise the home page. Never throws.
 */
export function callbackUrlOf(
  requested: string | undefined,
  { baseUrl, allowedOrigins }: { baseUrl: string; allowedOrigins: ReadonlySet<string> },
): string {
  const home = `${baseUrl}/`;
  // Browsers read backslashes as slashes and drop control characters; no real address holds either.
  if (
    requested === undefined ||
    requested.length > lengthMax ||
    !/^(?:https?:\/\/[^/]|\/(?!\/))[^\\\s\p{Cc}]*$/iu.test(requested)
  )
    return home;
  if (!URL.canParse(requested, baseUrl)) return home;
  const url = new URL(requested, baseUrl);
  const isOurs = allowedOrigins.has(url.origin) && url.username === "" && url.password === "";
  return isOurs ? url.href : home;
}

/** Returns the address of the sign-in page, with the error of the last attempt in its query. */
export function signInPageUrl(
  { baseUrl, signInPageUrl: page }: { baseUrl: string; signInPageUrl: string | undefined },
  query: Record<string, string | undefined> = {},
): string {
  const url = new URL(page ?? `${baseUrl}/api/auth/signin`);
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) url.searchParams.set(name, value);
  }
  return url.href;
}

/**
 * Returns the URL of an address, which may be relative to `base`; undefined when it is none: `URL.parse`,
 * also for Firefox before 126 and Safari before 18.
 */
export function parseUrl(address: string, base?: string): URL | undefined {
  try {
    return new URL(address, base);
  } catch {
    return undefined;
  }
}

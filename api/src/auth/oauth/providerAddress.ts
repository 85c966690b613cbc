/**
 * Whether a provider may be reached at this address: by https, or, where that is allowed, by http on the
 * loopback.
 */
export function isProviderAddress(url: URL, { allowInsecure }: { allowInsecure: boolean }): boolean {
  return url.protocol === "https:" || (allowInsecure && url.protocol === "http:" && isLoopback(url));
}

/** Throws a TypeError for any other address, be it from the configuration or from the provider itself. */
export function requireProviderAddress(url: URL, options: { allowInsecure: boolean }): void {
  if (!isProviderAddress(url, options))
    throw new TypeError(`A provider names an address that is not https: ${url.origin}`);
}

function isLoopback({ hostname }: URL): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127(?:\.\d{1,3}){3}$/.test(hostname);
}

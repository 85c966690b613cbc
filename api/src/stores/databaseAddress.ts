import type { AuthorityFile } from "#runtime/network/authorityFile.ts";

/**
 * Returns the address with the authority that must have signed the server's certificate, for the name in the
 * address; or the address as it is.
 */
export function databaseAddress(url: string, authority: AuthorityFile | undefined): string {
  if (authority === undefined) return url;
  const address = new URL(url);
  for (const name of ["ssl", "uselibpqcompat"]) address.searchParams.delete(name);
  address.searchParams.set("sslmode", "verify-full");
  address.searchParams.set("sslrootcert", authority.file);
  return address.href;
}

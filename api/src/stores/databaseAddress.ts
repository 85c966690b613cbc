import type { AuthorityFile } from "#runtime/authorityFile.ts";

/** Modes in which an address asks for TLS; pg checks the server's certificate and name in each of them. */
const checkedModes: readonly (string | null)[] = [null, "prefer", "require", "verify-ca", "verify-full"];

/** Returns the address with the authority that must have signed the server's certificate, for the name in the address; or the address as it is. */
export function databaseAddress(url: string, authority: AuthorityFile | undefined): string {
  if (authority === undefined) return url;
  const address = new URL(url);
  for (const name of ["ssl", "uselibpqcompat"]) address.searchParams.delete(name);
  address.searchParams.set("sslmode", "verify-full");
  address.searchParams.set("sslrootcert", authority.file);
  return address.href;
}

/** Returns in which way an address contradicts the file of an authority; undefined when it does not. */
export function contradictionOf(url: string, authority: AuthorityFile | undefined): string | undefined {
  if (authority === undefined || !URL.canParse(url)) return undefined;
  const { searchParams } = new URL(url);
  const mode = searchParams.get("sslmode");
  if (checkedModes.includes(mode) && !/^(?:0|false|no-verify)$/.test(searchParams.get("ssl") ?? "")) return undefined;
  return "is set, and DATABASE_URL asks for a connection that would not be checked against it: take ssl and sslmode out of the address, or say sslmode=verify-full";
}

/** Placeholder for the tenant's id in the issuer of a multi-tenant provider (Microsoft Entra). */
const tenantMark = "{tenantid}";
const tenantId = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;

/** A provider and the issuer of its identities; undefined while the issuer is unknown. */
export interface ProviderIssuer {
  id: string;
  name: string;
  issuer: string | undefined;
}

/** Returns the providers with their issuers. */
export function withIssuers(
  providers: Iterable<{ id: string; name: string; issuer(): Promise<string | undefined> }>,
): Promise<ProviderIssuer[]> {
  return Promise.all(
    [...providers].map(async (provider) => ({
      id: provider.id,
      name: provider.name,
      issuer: await provider.issuer(),
    })),
  );
}

/**
 * Returns whether the issuer in a token matches the configured one. The names may differ by a trailing slash,
 * and a token may have a tenant's id in place of the placeholder.
 */
export function isIssuer(issuer: string, claimed: string): boolean {
  return normalized(issuer) === normalized(claimed) || isOfTenant(issuer, claimed);
}

function isOfTenant(issuer: string, claimed: string): boolean {
  const [before, after] = issuer.split(tenantMark);
  if (before === undefined || after === undefined || !claimed.startsWith(before) || !claimed.endsWith(after))
    return false;
  return tenantId.test(claimed.slice(before.length, claimed.length - after.length));
}

function normalized(issuer: string): string {
  return URL.canParse(issuer) ? new URL(issuer).href : issuer;
}

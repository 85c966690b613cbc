import type { AuthProvider, ProvidersResponse, SignInMethodsResponse } from "#contracts/http/auth.ts";

/** Returns the ways to sign in as the Auth.js client reads them, in their order. */
export function presentAuthProviders(providers: Iterable<Pick<AuthProvider, "id" | "name" | "type">>, baseUrl: string): ProvidersResponse {
  const url = `${baseUrl}/api/auth`;
  return Object.fromEntries([...providers].map(({ id, name, type }) => [id, {
    id, name, type, signinUrl: `${url}/signin/${id}`, callbackUrl: `${url}/callback/${id}`,
  }]));
}

/** Returns how a user with identities of these issuers can sign in. */
export function presentSignInMethods(
  { hasPassword, issuers }: { hasPassword: boolean; issuers: readonly string[] },
  providers: Iterable<{ id: string; name: string; issuer: string }>,
): SignInMethodsResponse {
  const linked = new Set(issuers.map(normalizedIssuer));
  return { hasPassword, providers: [...providers].map(({ id, name, issuer }) => ({ id, name, isLinked: linked.has(normalizedIssuer(issuer)) })) };
}

/** Returns the issuer's address in one form: an issuer may write a trailing slash where the configuration has none. */
function normalizedIssuer(issuer: string): string {
  return URL.canParse(issuer) ? new URL(issuer).href : issuer;
}

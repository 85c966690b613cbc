import type { AuthProvider, ProvidersResponse } from "#contracts/http/auth.ts";

/** The ways to sign in as the Auth.js client reads them, in their order. */
export function presentAuthProviders(providers: Iterable<Pick<AuthProvider, "id" | "name" | "type">>, baseUrl: string): ProvidersResponse {
  const url = `${baseUrl}/api/auth`;
  return Object.fromEntries([...providers].map(({ id, name, type }) => [id, {
    id, name, type, signinUrl: `${url}/signin/${id}`, callbackUrl: `${url}/callback/${id}`,
  }]));
}

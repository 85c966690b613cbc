import type { AuthProvider, ProvidersResponse, SignInMethodsResponse } from "#contracts/http/auth.ts";
import { isIssuer, type ProviderIssuer } from "./issuer.ts";

/** Returns the ways to sign in as the Auth.js client reads them, in their order. */
export function presentAuthProviders(
  providers: Iterable<Pick<AuthProvider, "id" | "name" | "type">>,
  baseUrl: string,
): ProvidersResponse {
  const url = `${baseUrl}/api/auth`;
  return Object.fromEntries(
    [...providers].map(({ id, name, type }) => [
      id,
      {
        id,
        name,
        type,
        signinUrl: `${url}/signin/${id}`,
        callbackUrl: `${url}/callback/${id}`,
      },
    ]),
  );
}

/** Returns how a user with identities of these issuers can sign in. */
export function presentSignInMethods(
  { hasPassword, issuers }: { hasPassword: boolean; issuers: readonly string[] },
  providers: readonly ProviderIssuer[],
): SignInMethodsResponse {
  return {
    hasPassword,
    providers: providers.map(({ id, name, issuer }) => ({
      id,
      name,
      isLinked: issuer !== undefined && issuers.some((linked) => isIssuer(issuer, linked)),
    })),
  };
}

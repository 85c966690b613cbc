import type { ApiClient, ApiResponse } from "./apiClient.ts";

/** Returns a new CSRF token. Its cookie is added to the client's jar. */
export async function csrfToken(browser: ApiClient): Promise<string> {
  return (await browser.get("/api/auth/csrf")).json<{ csrfToken: string }>().csrfToken;
}

/** Posts the sign-in form like the Auth.js client. `fields` override its fields and may disable JSON mode. */
export async function postSignIn(
  browser: ApiClient,
  credentials: { email: string; password: string },
  fields: Record<string, string> = { json: "true" },
): Promise<ApiResponse> {
  const form = {
    email: credentials.email,
    password: credentials.password,
    csrfToken: await csrfToken(browser),
    ...fields,
  };
  return browser.post("/api/auth/callback/credentials", new URLSearchParams(form));
}

/** Posts the sign-out form. */
export async function postSignOut(
  browser: ApiClient,
  fields: Record<string, string> = { json: "true" },
): Promise<ApiResponse> {
  return browser.post(
    "/api/auth/signout",
    new URLSearchParams({ csrfToken: await csrfToken(browser), ...fields }),
  );
}

/**
 * Begins a sign-in with an external provider like the Auth.js client. Returns the response with the
 * provider's address.
 */
export async function postProviderSignIn(
  browser: ApiClient,
  provider: string,
  fields: Record<string, string> = { json: "true" },
  query = "",
  headers: Record<string, string> = {},
): Promise<ApiResponse> {
  return browser.post(
    `/api/auth/signin/${provider}${query}`,
    new URLSearchParams({ csrfToken: await csrfToken(browser), ...fields }),
    headers,
  );
}

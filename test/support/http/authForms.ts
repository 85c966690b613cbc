import type { ApiClient, ApiResponse } from "./apiClient.ts";

/** A fresh CSRF token; its cookie goes into the client's jar. */
export async function csrfToken(browser: ApiClient): Promise<string> {
  return (await browser.get("/api/auth/csrf")).json<{ csrfToken: string }>().csrfToken;
}

/** Posts the sign-in form as the Auth.js client does; `fields` come on top and may leave the JSON mode. */
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
 * Begins a sign-in at an external provider, as the Auth.js client does; returns the response with the
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

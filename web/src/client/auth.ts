/** The API's calls about signing in. All of them throw only ApiError. */
import {
  AuthSessionResponse,
  CsrfResponse,
  ProvidersResponse,
  RedirectResponse,
  SignInMethodsResponse,
} from "#contracts/http/auth.ts";
import { ApiError, isApiError } from "./apiError.ts";
import { request } from "./request.ts";

export type AuthSessionUser = Extract<AuthSessionResponse, { user: unknown }>["user"];
export type SignInProvider = Pick<ProvidersResponse[string], "id" | "name">;

/** Returns who is signed in, or null. */
export async function readAuthSession(): Promise<AuthSessionUser | null> {
  const session = await request(AuthSessionResponse, "/api/auth/session");
  return "user" in session ? session.user : null;
}

/**
 * Signs in; the response sets the cookie. Errors: invalid_credentials, locked and rate_limited (with a wait).
 */
export async function signIn(email: string, password: string): Promise<void> {
  const post = async (): Promise<unknown> =>
    request(RedirectResponse, "/api/auth/callback/credentials", {
      form: { ...(await csrfForm()), email, password },
    });
  // Another tab may have replaced the token between fetching and posting it.
  await post().catch((error: unknown) =>
    isApiError(error, "csrf") ? post() : Promise.reject(error as ApiError),
  );
}

/** Returns the external providers that players can sign in with. */
export async function listSignInProviders(signal?: AbortSignal): Promise<SignInProvider[]> {
  const providers = await request(ProvidersResponse, "/api/auth/providers", { signal });
  return Object.values(providers).filter(({ type }) => type !== "credentials");
}

/** Returns the sign-in methods of the signed-in player. */
export function listSignInMethods(signal?: AbortSignal): Promise<SignInMethodsResponse> {
  return request(SignInMethodsResponse, "/api/auth/methods", { signal });
}

/**
 * Returns the address of the provider, which leads back to `callbackUrl`. Errors: provider_unavailable if the
 * provider does not respond, and those of account changes for a signed-in player. With `player` it throws
 * unauthorized if that player is no longer signed in.
 */
export async function beginProviderSignIn(
  provider: string,
  callbackUrl: string,
  {
    currentPassword,
    player,
    signal,
  }: { currentPassword: string | undefined; player: string | undefined; signal: AbortSignal },
): Promise<string> {
  const form = {
    ...(await csrfForm(signal)),
    callbackUrl,
    ...(currentPassword !== undefined && { currentPassword }),
  };
  try {
    return (
      await request(RedirectResponse, `/api/auth/signin/${encodeURIComponent(provider)}`, {
        form,
        player,
        signal,
      })
    ).url;
  } catch (error) {
    throw isApiError(error, "unavailable")
      ? new ApiError("provider_unavailable", "The provider does not respond.", { cause: error })
      : error;
  }
}

/** Signs out in this browser and on the server. */
export async function signOut(): Promise<void> {
  await request(RedirectResponse, "/api/auth/signout", { form: await csrfForm() });
}

async function csrfForm(signal?: AbortSignal): Promise<Record<string, string>> {
  const { csrfToken } = await request(CsrfResponse, "/api/auth/csrf", { signal });
  return { csrfToken, callbackUrl: location.origin, json: "true" };
}

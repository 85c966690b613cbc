import { useCallback, useEffect, useState } from "react";
import { ApiError, isApiError } from "../client/apiError.ts";
import { beginProviderSignIn, type SignInProvider } from "../client/auth.ts";

/** Runs a request that may need the player's password; resolves with false when they would not give it. */
export type Attempt = (change: (currentPassword?: string) => Promise<void>) => Promise<boolean>;

const withoutPassword: Attempt = async (change) => {
  await change();
  return true;
};

/** Returns a function that sends the player to an external provider, and the id of the provider that the browser is on its way to. */
export function useProviderRedirect(onProblem: (problem: unknown) => void, attempt: Attempt = withoutPassword): {
  redirectingTo: string | undefined;
  /** `destination` is the path of this site that the provider leads back to. */
  redirect: (provider: Pick<SignInProvider, "id">, destination: string) => void;
} {
  const [redirectingTo, setRedirectingTo] = useState<string>();
  useEffect(() => {
    // The browser's Back shows the page as it was left.
    const reset = ({ persisted }: PageTransitionEvent): void => {
      if (persisted) setRedirectingTo(undefined);
    };
    window.addEventListener("pageshow", reset);
    return () => window.removeEventListener("pageshow", reset);
  }, []);

  const begin = useCallback(async (id: string, destination: string): Promise<void> => {
    setRedirectingTo(id);
    onProblem(undefined);
    try {
      const callbackUrl = new URL(destination, location.origin).href;
      const isLeaving = await attempt(async (currentPassword) => location.assign(await beginProviderSignIn(id, callbackUrl, currentPassword)));
      if (!isLeaving) setRedirectingTo(undefined);
    } catch (error) {
      onProblem(isApiError(error, "unavailable") ? new ApiError("provider_unavailable", "The provider does not respond.", { cause: error }) : error);
      setRedirectingTo(undefined);
    }
  }, [onProblem, attempt]);

  const redirect = useCallback(({ id }: Pick<SignInProvider, "id">, destination: string) => void begin(id, destination), [begin]);
  return { redirectingTo, redirect };
}

import { useCallback, useState } from "react";
import { ApiError, isApiError } from "../client/apiError.ts";
import { beginProviderSignIn, type SignInProvider } from "../client/auth.ts";

/** Returns a function that sends the player to an external provider, and the id of the provider that the browser is on its way to. */
export function useProviderRedirect(onProblem: (problem: unknown) => void): {
  redirectingTo: string | undefined;
  /** `destination` is the path of this site that the provider leads back to. */
  redirect: (provider: Pick<SignInProvider, "id">, destination: string) => void;
} {
  const [redirectingTo, setRedirectingTo] = useState<string>();

  const begin = useCallback(async (id: string, destination: string): Promise<void> => {
    setRedirectingTo(id);
    onProblem(undefined);
    try {
      location.assign(await beginProviderSignIn(id, new URL(destination, location.origin).href));
    } catch (error) {
      onProblem(isApiError(error, "unavailable") ? new ApiError("provider_unavailable", "The provider does not respond.", { cause: error }) : error);
      setRedirectingTo(undefined);
    }
  }, [onProblem]);

  const redirect = useCallback(({ id }: Pick<SignInProvider, "id">, destination: string) => void begin(id, destination), [begin]);
  return { redirectingTo, redirect };
}

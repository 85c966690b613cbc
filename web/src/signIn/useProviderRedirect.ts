import { useCallback, useState } from "react";
import { beginProviderSignIn, type SignInProvider } from "../client/api.ts";
import { ApiError, isApiError } from "../client/apiError.ts";

/** Leads to an external provider, which sends the player back to a path of this site; `leavingTo` is its id meanwhile. */
export function useProviderVisit(onProblem: (problem: unknown) => void): {
  leavingTo: string | undefined;
  visit: (provider: Pick<SignInProvider, "id">, destination: string) => void;
} {
  const [leavingTo, setLeavingTo] = useState<string>();

  const leave = useCallback(async (id: string, destination: string): Promise<void> => {
    setLeavingTo(id);
    onProblem(undefined);
    try {
      location.assign(await beginProviderSignIn(id, new URL(destination, location.origin).href));
    } catch (error) {
      onProblem(isApiError(error, "unavailable") ? new ApiError("provider_away", "The provider does not answer.", { cause: error }) : error);
      setLeavingTo(undefined);
    }
  }, [onProblem]);

  const visit = useCallback(({ id }: Pick<SignInProvider, "id">, destination: string) => void leave(id, destination), [leave]);
  return { leavingTo, visit };
}
